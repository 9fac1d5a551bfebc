"""Files that go to a real API without tables, by commands in a shell; and by a kill."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lake_assets.feeds.load import load_feeds
from lake_assets.model.tables import Layer
from lake_assets.sinks.standing import taken_by_sinks
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.e2e.test_rest_sinks import killed_after
from lake_assets_tests.sinks.lakes import recorded
from lake_assets_tests.sinks.rest.api import running_api

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PAGE = (Path(__file__).parents[2] / "docs" / "files-to-api.md").read_text()


def _blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def _world(settings, folder, text):
    """The page's feed, or one like it, with its files in a folder of their own."""
    files, feeds = folder / "beats", folder / "feeds"
    files.mkdir()
    feeds.mkdir()
    (feeds / "beats.yaml").write_text(text.replace("/data/beats", str(files)))
    (feed,) = load_feeds(feeds)
    return settings.model_copy(update={"feeds": feeds}), feed, files


def _tables(settings, layer):
    folder = settings.lake_dir / layer
    return sorted(one.name for one in folder.iterdir()) if folder.exists() else []


def _ensure_commands_tell(made, feed):
    # Their age may take rows from bronze that all sinks are done with.
    assert taken_by_sinks(lake_of(made), feed) == {("files", 0): 6}
    sink = feed.sinks[0].model_copy(update={"name": "other"})
    two = feed.model_copy(update={"sinks": (*feed.sinks, sink)})
    assert taken_by_sinks(lake_of(made), two) == {}
    refused = lake_assets_here(made, "rebuild", "silver", "--yes")
    assert (refused.returncode, "has no silver tables" in refused.stderr) == (1, True)
    traced = lake_assets_here(made, "trace", "files/0/2").stdout
    assert "in bronze; a dead letter (sink beats_api: undecodable" in traced
    assert "delivered (sink beats_api)" in lake_assets_here(made, "trace", "files/0/4").stdout


def test_the_example_of_the_page_does_what_the_page_says(settings, tmp_path):
    (program,), (text,), (lines,) = _blocks("python"), _blocks("yaml"), _blocks("json")
    api = subprocess.Popen(  # noqa: S603 - the page's own program
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        made, feed, files = _world(settings, tmp_path, text)
        (files / "monday.jsonl").write_text(lines)
        done = lake_assets_here(made, "stream", "--until-caught-up")
        assert done.returncode == 0, done.stderr
        assert "2 are dead letters" in done.stderr
        again = lake_assets_here(made, "deliver")
        assert "0 rows in 0 calls" in again.stdout, again.stderr
        (files / "bad.jsonl.gz").write_bytes(b"no gzip")
        assert lake_assets_here(made, "stream", "--until-caught-up").returncode == 0
        _ensure_commands_tell(made, feed)
    finally:
        api.kill()
        printed, _ = api.communicate()
    (shown,) = re.findall(r"^(files/0/0/0\+2-)… (\[.*\])$", PAGE, re.MULTILINE)
    (line,) = printed.decode().splitlines()
    assert line.startswith(shown[0])
    assert line.endswith(shown[1])
    letters = {row["offset"]: row["reason"] for row in recorded(made, feed) if row["key"]}
    assert sorted(letters) == [1, 2, 5]
    assert letters[5].startswith("bad_file: ")
    assert (_tables(made, Layer.SILVER), _tables(made, Layer.QUARANTINE)) == ([], [])
    assert _tables(made, Layer.BRONZE) == ["bronze_beats", "bronze_beats_files"]


FEED = """
feed: beats
silver: none
source: {{files: {{path: /data/beats, pattern: "*.jsonl", format: jsonl}}}}
payload: {{json: {{schema: "player string"}}}}
sinks:
  - name: api
    from: bronze
    select: {{who: player}}
    rest: {{url: "{url}/sessions", rows_per_call: 3, calls_in_flight: 2, timeout: 30s,
           allow_private: true}}
"""


@pytest.mark.long
def test_a_kill_between_calls_and_their_record_repeats_them_under_their_keys(settings, tmp_path):
    rows = [json.dumps({"player": f"p{number}"}) for number in range(20)]
    with running_api(tmp_path) as api:
        made, feed, files = _world(settings, tmp_path, FEED.format(url=api.url))
        (files / "a.jsonl").write_text("\n".join([*rows[:5], "no json", *rows[5:], ""]))
        # Some are answered, the others never: nothing of them is recorded yet.
        api.script(*[{}] * 4, always={"kind": "hang", "seconds": 60})
        killed_after(6, api, made, "stream")
        before = api.calls()
        api.script()
        (files / "b.jsonl").write_text('{"player": "late"}\n')
        done = lake_assets_here(made, "stream", "--until-caught-up")
        assert done.returncode == 0, done.stderr
        after = api.calls()[len(before) :]
    known = {call["headers"]["idempotency-key"]: call["body"] for call in after}
    for call in before:
        assert known[call["headers"]["idempotency-key"]] == call["body"]
    sent = [row["who"] for call in after for row in json.loads(call["body"])]
    assert sorted(sent) == sorted([*(f"p{number}" for number in range(20)), "late"])
    entries = recorded(made, feed)
    assert sorted(row["offset"] for row in entries) == list(range(22))
    assert [row["offset"] for row in entries if not row["delivered"]] == [5]
