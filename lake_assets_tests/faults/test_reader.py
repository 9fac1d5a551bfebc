import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from faults.delta_log import UnreadableError
from faults.journal import Acked
from faults.lake import NAMES
from faults.places import on_disk
from faults.reader import DOUBLED, GOLD, LOST, MISSING, UNNAMED, WRONG, Finding, count, gold_differs

EVENTS = [
    Acked(1.0, "t", 0, 0, "e0", "uno", "ann"),
    Acked(1.0, "t", 0, 1, "e1", "uno", "bob"),
    Acked(1.0, "t", 0, 2, "e2", "", ""),
    Acked(1.0, "t", 1, 0, "e3", "chess", "ann"),
    Acked(1.0, "t", 1, 1, "e4", "uno", "ann"),
]


class Lake:
    """Tables as the product lays them out, written by others."""

    def __init__(self, folder):
        self.folder = folder
        self.place = on_disk(str(folder))
        self.write("bronze/bronze_games", partition=[0, 0, 0, 1, 1], offset=[0, 1, 2, 0, 1])
        self.write("quarantine/quarantine_games", partition=[0], offset=[2])
        self.silver("uno", (0, 0, "e0", "ann"), (0, 1, "e1", "bob"), (1, 1, "e4", "ann"))
        self.silver("chess", (1, 0, "e3", "ann"))
        self.write("gold/gold_uno_player_agg", gamer_id=["ann", "bob"], events=[2, 1])
        self.write("gold/gold_chess_player_agg", gamer_id=["ann"], events=[1])

    def silver(self, key, *rows, mode="append"):
        partitions, offsets, ids, gamers = zip(*rows, strict=True)
        self.write(
            f"silver/silver_{key}_events",
            mode,
            _partition=partitions,
            _offset=offsets,
            device_id=ids,
            gamer_id=gamers,
            game_name=[key] * len(rows),
        )

    def write(self, table, mode="append", **columns):
        arrays = {name: pa.array(list(values)) for name, values in columns.items()}
        write_deltalake(self.folder / table, pa.table(arrays), mode=mode)

    def found(self, erased=(), events=EVENTS, **options):
        counted = count(self.place, NAMES, events, erased, **options)
        return {finding.kind: counted.of(finding.kind) for finding in counted.findings}


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path)


def test_a_lake_that_has_each_event_once_is_found_good(lake):
    counted = count(lake.place, NAMES, EVENTS)
    assert counted.findings == []
    assert (counted.silver, counted.quarantine, counted.gold_rows) == (4, 1, 3)
    assert gold_differs(lake.place, NAMES) == []


def test_an_acknowledged_event_that_is_nowhere_is_lost_in_bronze_and_in_silver(lake):
    lost = Acked(1.0, "t", 1, 2, "e5", "uno", "ann")
    found = count(lake.place, NAMES, [*EVENTS, lost]).findings
    words = "e5 of uno at (1, 2): not in bronze nor in silver or quarantine"
    assert found == [Finding(LOST, 1, (words,))]


def test_a_row_that_is_in_silver_and_quarantine_is_doubled(lake):
    lake.write("quarantine/quarantine_games", partition=[0], offset=[0])
    assert lake.found() == {DOUBLED: 1, WRONG: 1}


def test_a_row_that_is_in_silver_twice_is_doubled_and_gold_is_not_silver(lake):
    lake.silver("uno", (0, 0, "e0", "ann"))
    kinds = [finding.kind for finding in count(lake.place, NAMES, EVENTS).findings]
    assert kinds == [DOUBLED, GOLD]


def test_an_event_that_is_in_silver_by_two_places_is_doubled(lake):
    lake.silver("uno", (1, 0, "e0", "ann"))
    assert lake.found()[DOUBLED] == 2  # the event, and the place, which another one has


def test_a_row_of_bronze_that_is_there_twice_is_doubled(lake):
    lake.write("bronze/bronze_games", partition=[1], offset=[0])
    assert lake.found() == {DOUBLED: 1}


def test_a_row_that_the_journal_has_not_may_be_there_once(lake):
    unheard = EVENTS[:-1]
    assert lake.found(events=unheard) == {}
    lake.silver("uno", (1, 1, "e4", "ann"))
    assert lake.found(events=unheard)[DOUBLED] == 1


def test_an_event_in_another_ones_place_is_wrong(lake):
    lake.silver("chess", (1, 0, "e9", "ann"), mode="overwrite")
    assert lake.found() == {WRONG: 1}


def test_a_row_in_a_table_of_another_key_is_wrong(lake):
    lake.write(
        "silver/silver_chess_events",
        mode="overwrite",
        _partition=[1],
        _offset=[0],
        device_id=["e3"],
        gamer_id=["ann"],
        game_name=["uno"],
    )
    assert lake.found() == {WRONG: 1}


def test_an_event_that_was_erased_may_be_nowhere(lake):
    assert lake.found(erased={"e3"})["not erased"] == 1
    lake.silver("uno", (0, 0, "e0", "ann"), (0, 1, "e1", "bob"), mode="overwrite")
    lake.write("gold/gold_uno_player_agg", "overwrite", gamer_id=["ann", "bob"], events=[1, 1])
    assert lake.found(erased={"e4"}) == {"not erased": 1}  # bronze still has it
    lake.write("bronze/bronze_games", "overwrite", partition=[0, 0, 0, 1], offset=[0, 1, 2, 0])
    assert lake.found(erased={"e4"}) == {}
    assert lake.found() == {LOST: 1}


def test_a_silver_row_that_bronze_has_not_is_from_nowhere(lake):
    lake.silver("uno", (1, 7, "e7", "zoe"))
    lake.write(
        "gold/gold_uno_player_agg", "overwrite", gamer_id=["ann", "bob", "zoe"], events=[2, 1, 1]
    )
    assert lake.found() == {"from nowhere": 1}


@pytest.mark.parametrize(
    "gold",
    [
        {"gamer_id": ["ann"], "events": [2]},
        {"gamer_id": ["ann", "bob"], "events": [3, 1]},
        {"gamer_id": ["ann", "bob", "eve"], "events": [2, 1, 1]},
        {"gamer_id": ["ann", "ann", "bob"], "events": [2, 2, 1]},
    ],
)
def test_gold_that_is_not_silver_is_found(lake, gold):
    lake.write("gold/gold_uno_player_agg", "overwrite", **gold)
    assert lake.found() == {GOLD: 1}
    assert len(gold_differs(lake.place, NAMES)) == 1


def test_a_file_that_no_log_names_is_found_unless_it_is_young(lake):
    path = lake.folder / "silver" / "silver_uno_events" / "part-9.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    assert lake.found() == {UNNAMED: 1}
    counted = count(lake.place, NAMES, EVENTS, files_younger_than=path.stat().st_mtime - 1)
    assert (counted.findings, counted.young_files) == ([], 1)
    assert lake.found(files_younger_than=path.stat().st_mtime + 1) == {UNNAMED: 1}


@pytest.mark.parametrize(
    "path",
    [
        "silver/silver_uno_events/_delta_log/_commit_7.json.tmp",
        "silver/silver_uno_events/_delta_log/deep/00000000000000000000.json",
        "silver/silver_new_events/part-1.parquet",  # whose log went or never began
    ],
)
def test_so_is_one_of_no_log_beside_those_that_logs_have(lake, path):
    (lake.folder / path).parent.mkdir(exist_ok=True)
    (lake.folder / path).write_bytes(b"")
    (lake.folder / "_lake.json").write_bytes(b"{}")  # of the lake, not of a table
    assert count(lake.place, NAMES, EVENTS).findings == [Finding(UNNAMED, 1, (path,))]


def test_what_was_replaced_and_is_still_named_is_no_such_file(lake):
    lake.silver("chess", (1, 0, "e3", "ann"), mode="overwrite")
    assert lake.found() == {}


def test_a_data_file_that_is_gone_is_found(lake):
    (file,) = (lake.folder / "silver" / "silver_chess_events").glob("*.parquet")
    file.unlink()
    assert lake.found() == {MISSING: 1}


def test_a_table_whose_rows_were_deleted_by_vectors_is_refused_by_name(lake):
    log = lake.folder / "silver" / "silver_chess_events" / "_delta_log"
    protocol = {"minReaderVersion": 3, "readerFeatures": ["deletionVectors"]}
    (log / f"{1:020}.json").write_text(json.dumps({"protocol": protocol}))
    with pytest.raises(UnreadableError, match=r"silver_chess_events: .* \['deletionVectors'\]"):
        count(lake.place, NAMES, EVENTS)


def test_a_lake_is_counted_from_checkpoints_as_well(lake):
    for table in ("silver/silver_uno_events", "bronze/bronze_games"):
        DeltaTable(lake.folder / table).create_checkpoint()
        (lake.folder / table / "_delta_log" / f"{0:020}.json").unlink()
    assert lake.found() == {}
