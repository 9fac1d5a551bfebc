from dataclasses import replace

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.delta.known_table import look
from lake_assets_tests.sample import silver_of

UNO = silver_of("uno")
ROWS = pa.table({"a": [1]})
ONE, TWO = Batch("one", 1), Batch("two", 1)


def test_what_is_known_of_one_stream_is_looked_at_with_that_of_another(tmp_path, committer, land):
    committer.create({UNO: ROWS.schema})
    committer.append([land(UNO, ROWS)], ONE)
    committer.append([land(UNO, ROWS)], TWO)
    handle = DeltaTable(tmp_path / UNO.relative)
    first = look(handle, ONE)
    assert first.last == {"one": 1}
    both = look(handle, TWO, first)
    assert both.last == {"one": 1, "two": 1}
    assert both.has(ONE) is True
    assert both.has(Batch("two", 2)) is False


def test_each_stream_looks_for_itself_once_the_columns_are_others(tmp_path, committer, land):
    committer.create({UNO: ROWS.schema})
    committer.append([land(UNO, ROWS)], ONE)
    handle = DeltaTable(tmp_path / UNO.relative)
    first = replace(look(handle, ONE), columns="others")
    assert look(handle, TWO, first).last == {"two": None}
