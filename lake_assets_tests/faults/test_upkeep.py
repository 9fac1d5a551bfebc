import shutil
from random import Random
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from faults.lake import settings_of
from faults.report import VenueReport
from faults.stack import Asked, Log, Stack
from faults.toxic_proxy import ToxicProxy
from faults.upkeep import last_upkeep
from lake_assets.settings.load import load_settings

TABLE = "bronze/bronze_games"


@pytest.fixture
def report():
    return VenueReport(venue="disk", dagster=False, seconds=1.0)


@pytest.fixture
def stack(tmp_path):
    """A lake that has one file that no log names; nothing runs."""
    nobody = ("127.0.0.1", 1)
    settings = settings_of(load_settings(), tmp_path, broker=nobody, registry=nobody)
    write_deltalake(f"{settings.lake_root}/{TABLE}", pa.table({"a": [1]}))
    with ToxicProxy(Random(1)) as proxy:  # noqa: S311 - as the suite
        one = Stack(
            asked=Asked(venue="disk", folder=tmp_path, run=uuid4().hex[:12], seed=1),
            settings=settings,
            servers={},
            proxy=proxy,
            kept=[],
            cluster=None,
            disk=None,
            clock=None,
            say=Log(tmp_path / "run.log"),
        )
        pq.write_table(pa.table({"a": [2]}), one.place.full(f"{TABLE}/part-9.parquet"))
        yield one


def data_files(stack):
    return sorted(f.path for f in stack.place.files_below(TABLE) if f.path.endswith(".parquet"))


@pytest.mark.skipif(shutil.which("faketime") is None, reason="there is no faketime")
def test_a_file_that_no_log_names_is_gone_after_the_last_upkeep(stack, report):
    before = data_files(stack)
    last_upkeep(stack, report)
    assert [*{*before} - {*data_files(stack)}] == [f"{TABLE}/part-9.parquet"]
    assert (report.failures, report.skipped, stack.keeps_young) == ([], {}, False)


def test_where_no_clock_can_be_set_ahead_such_files_are_young_and_upkeep_may_fail(
    stack, report, monkeypatch
):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    (stack.settings.feeds / "games.yaml").write_text("feed: [")
    last_upkeep(stack, report)
    skipped = {"upkeep eight days later": "there is no faketime"}
    assert (report.skipped, stack.keeps_young) == (skipped, True)
    (failure,) = report.failures
    assert failure.startswith("the last upkeep ended with 1: ")
    assert "games.yaml" in failure
