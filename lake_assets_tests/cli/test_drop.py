"""What `drop` says and asks; that silver is derived again is shown by docs/runbooks/keys.md."""

import pyarrow as pa
import pytest

from lake_assets.cli.drop import drop
from lake_assets.errors import LakeError, RuntimeSetupError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.owners import Owner
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.commandline import answer_of, sparkless_here
from lake_assets_tests.sample import gold_of, silver_of

OLD = gold_of("uno", "old_view")

GONE = silver_of("chess")


@pytest.fixture
def lake(settings):
    owner = Owner(feed="games", key="uno", view="old_view")
    with open_lake(settings) as context:
        context.committer.create({OLD: pa.schema([("a", pa.int64())])}, owners={OLD: owner})
    return settings


def is_there(settings):
    return (settings.lake_dir / OLD.relative).exists()


def test_a_dry_run_names_the_tables_and_leaves_them(lake):
    done = sparkless_here(lake, "drop", "--dry-run", "--json")
    (table,) = answer_of(done)["result"]["tables"]
    assert table["table"] == "gold_uno_old_view"
    assert is_there(lake)


def test_without_a_terminal_it_is_not_done_unasked(lake):
    done = sparkless_here(lake, "drop")
    assert done.returncode == 2
    assert "1 table would be dropped" in done.stderr
    assert is_there(lake)


def test_a_view_that_is_gone_is_dropped_without_a_rebuild(lake):
    done = sparkless_here(lake, "drop", "--yes")
    assert (done.returncode, done.stderr) == (0, "1 table dropped\n")
    assert not is_there(lake)
    again = sparkless_here(lake, "drop", "--yes")
    assert "each of its tables is of a key and a view that it declares" in again.stderr


def test_without_a_registry_no_silver_is_dropped_since_it_could_not_be_derived(settings):
    owner = Owner(feed="games", key="chess")
    with open_lake(settings) as context:
        context.committer.create({GONE: pa.schema([("a", pa.int64())])}, owners={GONE: owner})
    done = sparkless_here(settings, "drop", "--yes", "--json")
    assert done.returncode == 1
    assert answer_of(done)["problems"][0]["fact"] == "does not run"
    assert (settings.lake_dir / GONE.relative).exists()


def test_where_silver_is_not_derived_again_it_says_what_is_left_to_do(settings, monkeypatch):
    owner = Owner(feed="games", key="chess")
    with open_lake(settings) as context:
        context.committer.create({GONE: pa.schema([("a", pa.int64())])}, owners={GONE: owner})

    def without_java(*_):
        raise RuntimeSetupError("Java", "does not start", "Install one")

    monkeypatch.setattr("lake_assets.cli.drop.rebuild_silver", without_java)
    there = Endpoints(kafka="k:1", registry="http://r:1")
    monkeypatch.setattr("lake_assets.services.control.locate", lambda *_: there)
    told = "Java: does not start. Install one. Run `lake-assets rebuild silver --yes`"
    with pytest.raises(
        LakeError, match=r"tables were dropped, and silver was not derived"
    ) as found:
        drop(feed="games", home=settings.home, lake=settings.lake_dir, yes=True)
    assert told in str(found.value)
    assert not (settings.lake_dir / GONE.relative).exists()
