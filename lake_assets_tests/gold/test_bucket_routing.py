import json

import pyarrow as pa

from lake_assets.gold.bucket_routing import BucketRouting
from lake_assets.gold.compiled_view import BUCKET, KEY
from lake_assets.model.expectations import Expectation
from lake_assets.parquet.writer import TABLE
from lake_assets_tests.sample import GAMES

VIEW = GAMES.gold[0]
ROWS = [("go_fish", 1), ("uno", 0), ("chess", 0), ("go_fish", 0), (None, 0)]


def batch(**more):
    keys, buckets = zip(*ROWS, strict=True)
    columns = {KEY: keys, BUCKET: pa.array(buckets, pa.int32()), **more}
    return pa.RecordBatch.from_pydict(columns)


def test_a_row_goes_to_its_bucket_of_its_game_and_a_strange_game_nowhere():
    routing = BucketRouting(VIEW, ["uno", "go_fish"], [4, 2])
    (found,) = routing([batch()])
    assert found[TABLE].to_pylist() == [5, 0, 4]
    assert found[KEY].to_pylist() == ["go_fish", "uno", "go_fish"]
    assert list(routing.notes()) == []


def test_rows_are_judged_where_they_are_placed():
    few = Expectation(name="few", sql="session_count < 3")
    view = VIEW.model_copy(update={"expectations": (few,)})
    routing = BucketRouting(view, ["uno", "go_fish"], [1, 2])
    list(routing([batch(**{"#violates_few": [True, False, True, True, True]})]))
    (note,) = routing.notes()
    seen, violated = json.loads(note)
    assert sorted(seen) == [[0, 1], [1, 1], [2, 1]]
    assert sorted(violated) == [[1, "few", 1], [2, "few", 1]]
