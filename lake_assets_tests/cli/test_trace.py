from datetime import UTC, datetime

import pyarrow as pa
import pytest
import yaml
from deltalake import write_deltalake

from lake_assets.model.tables import bronze_of
from lake_assets_tests.columns import BRONZE
from lake_assets_tests.commandline import result_of, sparkless_here
from lake_assets_tests.sources.files.folders import Folder, read


@pytest.fixture
def lake(settings):
    """One message of partition 1, in bronze."""
    at = datetime(2026, 11, 21, 1, 2, 3, tzinfo=UTC)
    row = {"topic": "game-stream", "partition": 1, "offset": 7, "ingested_at": at}
    rows = pa.Table.from_pylist([row], schema=BRONZE)
    write_deltalake(settings.lake_dir / bronze_of("games").relative, rows)
    return settings


def test_a_message_is_found_with_its_file(lake):
    done = sparkless_here(
        lake, "trace", "--topic", "game-stream", "--partition", "1", "--offset", "7"
    )
    first, second = done.stdout.splitlines()
    assert first == "game-stream/1/7: in bronze; demux has not come to it yet"
    assert second.startswith("  bronze_games: bronze/bronze_games/")
    assert second.endswith("(version 0, 2026-11-21 01:02:03 UTC)")


def test_an_origin_in_one_word_is_the_same_as_json(lake):
    found = result_of(sparkless_here(lake, "trace", "game-stream/1/7", "--json"))
    assert found["whereabouts"] == "bronze"
    assert (found["partition"], found["offset"]) == (1, 7)
    (place,) = found["places"]
    assert (place["table"], place["version"], place["key"]) == ("bronze_games", 0, None)
    assert (lake.lake_dir / place["file"]).is_file()


def test_what_is_not_there_is_an_answer_and_no_error(settings):
    done = sparkless_here(settings, "trace", "--partition", "0", "--offset", "3")
    said = "game-stream/0/3: not in bronze: ingest has taken nothing of this partition\n"
    assert (done.returncode, done.stdout) == (0, said)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nowhere/0/1"], "source 'nowhere': is read by no feed. Use one of: game-stream"),
        (["game-stream/0"], "'game-stream/0': names no message. Write topic/partition/offset"),
        (["game-stream/0/-1"], "names no message"),
        (["game-stream/2147483648/0"], "names no message"),
        (["game-stream/0/1", "--offset", "1"], "name the message once"),
        (["--partition", "0"], "name the message by --partition and --offset"),
        (["--partition", "-1", "--offset", "0"], "'--partition'"),
    ],
)
def test_what_names_no_message_is_refused(settings, arguments, problem):
    done = sparkless_here(settings, "trace", *arguments)
    assert done.returncode in {1, 2}
    said = " ".join(done.stderr.replace("│", "").split())
    assert problem in said


def test_a_row_of_a_file_is_named_by_its_line(settings, tmp_path):
    folder = Folder(tmp_path / "files")
    folder.root.mkdir()
    feed = folder.feed()
    declared = {"files": {"path": str(folder.path), "format": "jsonl", "settle": "0s"}}
    text = {"feed": "beats", "source": declared, "payload": {"json": {"schema": "bpm int"}}}
    (folder.root / "beats.yaml").write_text(yaml.safe_dump(text))
    mine = settings.model_copy(update={"feeds": folder.root, "home": folder.root})
    folder.put("a", {"bpm": 1}, {"bpm": 2})
    read(folder.reader(feed))  # its lake is `lake` in its root, as the home's

    def trace(*arguments):
        return sparkless_here(mine, "trace", *arguments)

    assert trace("--file", "a", "--line", "2").stdout.startswith("files/0/1: ")
    assert "had 2 lines or elements" in trace("--file", "a", "--line", "3").stderr
    assert "is none that the streams have found" in trace("--file", "b").stderr
    assert "name the row once" in trace("--file", "a", "--offset", "1").stderr
    assert "reads no files" in sparkless_here(settings, "trace", "--file", "a").stderr
