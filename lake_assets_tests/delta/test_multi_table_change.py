"""Changes that are noted and not committed, found by a feed that is declared otherwise by now."""

import pyarrow as pa
import pytest

from lake_assets.delta.change_journal import ChangeJournal, TableChange, TablesChange
from lake_assets.delta.commit import Batch
from lake_assets.delta.multi_table_change import finish
from lake_assets.delta.offset_range import Range
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets.model.flows import origin_of
from lake_assets.model.sources import Source
from lake_assets.model.tables import quarantine_of
from lake_assets.silver.rows import quarantine_of_feed, silver_schema
from lake_assets_tests.sample import GAMES, silver_of

UNO, ASIDE = silver_of("uno"), quarantine_of("games")
FILES = Source.model_validate({"files": {"path": "/data", "format": "jsonl"}})
INTO = GAMES.model_copy(update={"source": FILES.in_tables_of(GAMES.source)})
ALONE = GAMES.model_copy(update={"source": FILES})


@pytest.mark.parametrize(("written", "read"), [(INTO, ALONE), (ALONE, INTO)])
def test_a_change_of_tables_that_name_rows_otherwise_is_refused_and_stays(committer, written, read):
    columns = silver_schema(pa.schema([("coins", pa.int32())]), origin_of(written))
    committer.create({UNO: columns, ASIDE: quarantine_of_feed(written)})
    file = log_of(committer.store, ASIDE).folder / "_change.json"
    change = TablesChange(
        batch=Batch("redo", 1),
        origin=origin_of(written),
        tables=[
            TableChange(table=UNO, leaving=Range(ends={("files", 0): 5})),
            TableChange(table=ASIDE, leaving=Range(ends={("files", 0): 5})),
        ],
        companions=[UNO],
    )
    ChangeJournal(committer.store, file, change.origin).write(change)
    with pytest.raises(LakeError, match=r"silver_uno_events names rows otherwise .*rebuild silver"):
        finish(ChangeJournal(committer.store, file, origin_of(read)), committer)
    finish(ChangeJournal(committer.store, file, change.origin), committer)
    assert committer.store.stat(file) is None
