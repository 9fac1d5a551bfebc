"""A lake that the last release made: it is opened, goes on, is rebuilt, and its backup restored.

What is in it, and how it was made, is in `last_release`: two feeds of files, one with duplicates,
expectations, views that merge, windows and free SQL, an erased person, and maintenance; one with a
keyed table. Its archive is made anew when a release is.
"""

import shutil
import tarfile
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.tables import quarantine_of
from lake_assets_tests.commandline import lake_assets_here, sparkless_here

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HERE = Path(__file__).parent / "last_release"


@pytest.fixture
def lake(settings, tmp_path):
    """The archive, unpacked, with this release's settings."""
    with tarfile.open(HERE / "lake.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "feeds").mkdir()
    for feed in (HERE / "feeds").glob("*.yaml"):
        text = feed.read_text().replace("/data/", f"{tmp_path}/")
        (tmp_path / "feeds" / feed.name).write_text(text)
    own = {"feeds": tmp_path / "feeds", "lake": tmp_path / "lake"}
    return settings.model_copy(update=own)


def run(settings, *arguments):
    done = lake_assets_here(settings, *arguments)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def coins(settings):
    """What gold has of each game and player."""
    feed = find_feed(load_feeds(settings.feeds), "plays")
    return {
        (key, row["player"]): (row["plays"], row["coins"])
        for key in feed.keys
        for row in rows_of(settings, feed.gold_table(feed.view("totals"), key))
    }


def rows_of(settings, table):
    return DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()


BEFORE = {
    ("uno", "ann"): (3, 15),
    ("uno", "bob"): (1, 3),
    ("chess", "ann"): (1, 1),
    ("chess", "bob"): (1, 2),
    ("chess", "cyd"): (1, 7),
}
"""Once views are refreshed: rows of the third file were in silver alone."""

AFTER = BEFORE | {("uno", "ann"): (4, 16)}
"""With the fourth file: one new row of ann's, one duplicate, one of somebody who was erased."""


def test_it_goes_on_and_is_rebuilt(lake, tmp_path):
    told = run(lake, "refresh")
    assert "totals of uno: 2 rows (incremental" in told  # and not in full: positions were read
    assert coins(lake) == BEFORE
    shutil.copy(HERE / "rows" / "plays-4.jsonl", tmp_path / "plays")
    shutil.copy(HERE / "rows" / "accounts-3.jsonl", tmp_path / "accounts")
    run(lake, "stream", "--until-caught-up")
    run(lake, "refresh")
    assert coins(lake) == AFTER
    reasons = sorted(row["reason"] for row in rows_of(lake, quarantine_of("plays")))
    assert reasons == ["expectation", "expectation", "unknown_key", "unknown_key"]
    accounts = find_feed(load_feeds(lake.feeds), "accounts")
    current = accounts.gold_table(accounts.view("current"), "accounts")
    assert sorted((r["id"], r["name"]) for r in rows_of(lake, current)) == [(2, "rob"), (3, "cyd")]
    run(lake, "rebuild", "silver", "--yes")
    run(lake, "rebuild", "gold", "--yes")
    assert coins(lake) == AFTER
    assert sparkless_here(lake, "maintain").returncode == 0


def test_its_backup_is_restored(lake, tmp_path):
    elsewhere = lake.model_copy(update={"lake": tmp_path / "restored", "home": tmp_path / "other"})
    done = sparkless_here(elsewhere, "restore", str(tmp_path / "backup"))
    assert done.returncode == 0, done.stderr
    run(elsewhere, "stream", "--until-caught-up")
    run(elsewhere, "refresh")
    assert coins(elsewhere) == BEFORE
