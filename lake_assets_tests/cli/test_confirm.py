import pytest

from lake_assets.cli.confirm import Touched, counted, in_words
from lake_assets_tests.backup.lakes import FISH, UNO, BatchedLake
from lake_assets_tests.commandline import answer_of, in_a_terminal, sparkless_here
from lake_assets_tests.erasure.lakes import PeopledLake


def of(name, rows=1):
    return Touched(table=name, rows=rows, files=2, size_bytes=3000)


def test_tables_are_counted_and_summed_and_the_first_are_named():
    assert in_words([of("a"), of("b", rows=1000)]) == [
        "  a: 1 row, 2 files, 3.0 kB",
        "  b: 1,000 rows, 2 files, 3.0 kB",
        "2 tables, 1,001 rows, 4 files, 6.0 kB",
    ]
    many = in_words([of(str(number)) for number in range(30)])
    assert (len(many), many[20]) == (22, "  and 10 more")
    assert counted(1, "table") == "1 table"


@pytest.fixture
def lake(settings):
    made = BatchedLake(settings)
    made.ingest()
    made.demux(UNO, FISH)
    made.refresh()
    made.committer.close()
    return settings


def test_a_dry_run_of_a_rebuild_tells_what_would_be_replaced(lake):
    done = sparkless_here(lake, "rebuild", "gold", "--dry-run", "--json")
    (table,) = answer_of(done)["result"]["tables"]
    assert (table["table"], table["rows"]) == ("gold_uno_player_agg", 1)
    shown = sparkless_here(lake, "rebuild", "silver", "--key", "uno", "--dry-run").stdout
    assert "silver_uno_events: 1 row, 1 file" in shown
    assert "go_fish" not in shown
    assert "rows of these keys also leave quarantine" in shown
    done = sparkless_here(lake, "rebuild", "silver", "--dry-run", "--json")
    assert "quarantine_games" in [one["table"] for one in answer_of(done)["result"]["tables"]]
    unknown = sparkless_here(lake, "rebuild", "silver", "--key", "whist", "--dry-run")
    assert (unknown.returncode, "has no key 'whist'" in unknown.stderr) == (1, True)


@pytest.mark.parametrize("layer", ["silver", "gold"])
def test_a_rebuild_without_a_terminal_needs_a_yes(lake, layer):
    done = sparkless_here(lake, "rebuild", layer, "--json")
    assert done.returncode == 2
    (problem,) = answer_of(done)["problems"]
    assert problem["what"] == "--yes"
    assert "would be replaced" in problem["fact"]


def test_bronze_that_is_protected_is_refused_before_anybody_is_asked(lake):
    done = sparkless_here(lake, "rebuild", "bronze")
    assert (done.returncode, "is protected" in done.stderr) == (1, True)


def test_a_no_in_a_terminal_changes_nothing(lake):
    code, said = in_a_terminal(lake, "rebuild", "silver", "--key", "uno", typed="n\n")
    assert code == 1
    said = " ".join(said.split())
    assert "silver_uno_events: 1 row, 1 file" in said
    assert "1 table would be replaced by what bronze makes now." in said
    assert "Go on?" in said


def test_an_erasure_is_counted_before_it_is_done(settings):
    lake = PeopledLake(settings)
    lake.take("ann-7f3a", "bob-11aa", "ann-7f3a")
    lake.committer.close()
    words = ("erase", "--column", "gamer_id", "--value", "ann-7f3a")
    done = sparkless_here(settings, *words, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert answer_of(done)["result"]["rows"][UNO.name] == 2
    assert not (settings.lake_dir / "_erasures").exists()
    asked = sparkless_here(settings, *words)
    assert (asked.returncode, "--yes: is needed" in asked.stderr) == (2, True)


def test_older_backups_go_only_after_a_yes(lake, tmp_path):
    place = str(tmp_path / "place")
    assert sparkless_here(lake, "backup", place, "--keep", "1").returncode == 0
    looked = sparkless_here(lake, "backup", place, "--keep", "1", "--dry-run", "--json")
    assert answer_of(looked)["result"]["pruned"] == [1]
    refused = sparkless_here(lake, "backup", place, "--keep", "1")
    assert (refused.returncode, "backups 1 of" in refused.stderr) == (2, True)
    assert sparkless_here(lake, "backup", place, "--keep", "2").returncode == 0
    assert sparkless_here(lake, "backup", place, "--keep", "2", "--yes").returncode == 0


def test_a_requeue_says_what_it_would_try(lake):
    done = sparkless_here(lake, "requeue", "--dry-run", "--json")
    assert answer_of(done)["result"] == {"is_dry_run": True, "quarantined": {"games": {}}}


def test_a_table_that_cannot_be_read_is_named_and_may_be_restored_over(lake, tmp_path):
    place = str(tmp_path / "place")
    assert sparkless_here(lake, "backup", place).returncode == 0
    log = lake.lake_dir / UNO.relative / "_delta_log"
    for file in log.glob("*.json"):
        file.write_text("torn")
    looked = sparkless_here(lake, "restore", place, "--force", "--dry-run")
    assert f"{UNO.name}: cannot be read" in looked.stdout
    assert sparkless_here(lake, "restore", place, "--force").returncode == 2
    done = sparkless_here(lake, "restore", place, "--force", "--yes")
    assert done.returncode == 0, done.stderr
