from itertools import count

import pyarrow as pa
import pytest

from lake_assets.backup.consistent_cut import choose_versions
from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.log_tail import info_at
from lake_assets.delta.refresh_position import DEFINITION, SILVER_TABLE, SILVER_VERSION
from lake_assets.delta.refresh_position_of_tables import PositionOfTables, ReadVersion
from lake_assets.delta.table_log import log_of
from lake_assets.model.owners import Owner
from lake_assets_tests.backup.lakes import FISH, UNO, UNO_AGG
from lake_assets_tests.maintenance.lakes import SCHEMA
from lake_assets_tests.sample import gold_of

TOP = gold_of("uno", "top")


@pytest.fixture
def top(lake):
    """A view that reads another view and a second key's silver; its refresh."""
    lake.committer.create({TOP: SCHEMA}, owners={TOP: Owner(feed="games", key="uno", view="top")})

    numbers = count(100)

    def refresh(**more):
        tables = {}
        for table in (UNO_AGG, FISH):
            log = log_of(lake.store, table)
            handle, version = log.open(), lake.version(table)
            digest = commit_digest(log, version)
            tables[table.relative] = ReadVersion(version, str(handle.metadata().id), digest)
        info = PositionOfTables(tables=tables, definition="it").info | more
        row = pa.table({"n": [next(numbers)], "text": ["top"]}, schema=SCHEMA)
        commit = Commit(table=TOP, files=[lake.file(TOP, row)], info=info)
        lake.committer.append([commit], Batch("refresh", next(numbers)))

    refresh()
    return refresh


def read_by_top(lake, versions):
    told = PositionOfTables.of(info_at(log_of(lake.store, TOP), versions[TOP]))
    return {name: at.version for name, at in told.tables.items()}


def test_a_view_that_reads_a_view_is_taken_at_what_is_taken_of_that(lake, top):
    lake.demux(UNO, whole=False)
    lake.refresh()  # of silver that is not in the cut
    top()
    versions = choose_versions(lake.store).versions
    assert (versions[UNO_AGG], versions[TOP]) == (3, 1)
    assert read_by_top(lake, versions) == {UNO_AGG.relative: 3, FISH.relative: 3}


def test_a_view_that_reads_silver_besides_is_taken_at_what_is_taken_of_that(lake, top):
    lake.demux(FISH, whole=False)
    top()
    versions = choose_versions(lake.store).versions
    assert (versions[FISH], versions[TOP]) == (3, 1)


def test_a_view_that_tells_of_its_keys_silver_too_is_taken_at_what_is_taken_of_a_view(lake, top):
    """As one over `silver` and `gold.<view>`: both positions are in its commit."""
    lake.demux(UNO, whole=False)
    lake.refresh()  # of silver that is not in the cut
    top(**{SILVER_VERSION: "0", SILVER_TABLE: "id", DEFINITION: "it"})
    versions = choose_versions(lake.store).versions
    assert (versions[UNO_AGG], versions[TOP]) == (3, 1)


def test_the_newest_is_taken_where_nothing_is_taken_back(lake, top):
    lake.demux(UNO)
    lake.refresh()
    top()
    versions = choose_versions(lake.store).versions
    assert (versions[UNO_AGG], versions[TOP]) == (4, 2)


@pytest.mark.usefixtures("top")
def test_a_table_that_a_view_read_and_that_is_gone_holds_nothing_back(lake):
    log = log_of(lake.store, TOP)
    names = ("silver/dropped", "gold/dropped", "external/players")  # the last one is not the lake's
    read = {name: ReadVersion(9, "id", "") for name in names}
    info = PositionOfTables(tables=read, definition="it").info
    lake.committer.append([Commit(table=TOP, files=(), info=info)], Batch("refresh", 99))
    assert choose_versions(lake.store).versions[TOP] == log.open().version()
