"""`rebuild bronze` says what is read again, and what is not."""

import yaml

from lake_assets_tests.commandline import answer_of, sparkless_here
from lake_assets_tests.sources.files.folders import Folder, read


def test_files_of_the_archive_are_told_not_to_be_read_again(settings, tmp_path):
    folder = Folder(tmp_path / "files")
    folder.root.mkdir()
    read(folder.reader())  # its lake is `lake` in its root, as the home's
    declared = {"path": str(folder.path), "format": "jsonl", "archive": "/done"}
    text = {"feed": "beats", "source": {"files": declared}, "reset": "allowed"}
    text |= {"payload": {"json": {"schema": "bpm int"}}}
    (folder.root / "beats.yaml").write_text(yaml.safe_dump(text))
    mine = settings.model_copy(update={"feeds": folder.root, "home": folder.root})
    told = sparkless_here(mine, "rebuild", "bronze", "--yes").stdout
    assert told.startswith("1 tables dropped; `lake-assets stream` reads files")
    assert "none that is in /done: move back what is to be read again" in told


def test_a_dry_run_refuses_what_the_act_would_refuse(settings):
    done = sparkless_here(settings, "rebuild", "gold", "--view", "none", "--dry-run", "--json")
    assert done.returncode == 1
    (problem,) = answer_of(done)["problems"]
    assert (problem["what"], problem["fact"]) == ("view 'none'", "is not declared")
    assert "player_agg" in problem["next_step"]
    times = ("--since", "2026-02-02", "--until", "2026-01-01")
    done = sparkless_here(settings, "rebuild", "silver", *times, "--dry-run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --until: is not after --since. ")


def test_of_a_time_the_counts_are_said_to_be_of_whole_tables(settings):
    done = sparkless_here(settings, "rebuild", "silver", "--since", "2026-01-01", "--dry-run")
    heading = (
        "only rows that came into bronze since 2026-01-01 00:00:00 (UTC) would be replaced by what "
        "bronze makes now; of these tables, which are counted whole:"
    )
    assert done.stdout.startswith(heading)
    done = sparkless_here(
        settings, "rebuild", "silver", "--since", "2026-01-01", "--dry-run", "--json"
    )
    found = answer_of(done)["result"]
    assert (found["since"], found["until"]) == ("2026-01-01T00:00:00", None)
