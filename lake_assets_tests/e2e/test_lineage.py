"""Streams and refreshes as the commands run them, as OpenLineage's server is told of them."""

import json

import pytest

from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.lineage.conftest import keeper

pytestmark = [pytest.mark.spark, pytest.mark.slow]

__all__ = ["keeper"]

YAML = """
feed: beats
source: {{files: {{path: {folder}, format: jsonl, settle: 0s}}}}
payload: {{json: {{schema: "player string, bpm int"}}}}
gold:
  - {{name: pace, keys: [player], measures: {{mean: avg(bpm)}}}}
  - {{name: wrong, sql: "select player, no_such(bpm) as x from silver"}}
"""


@pytest.fixture
def lake(settings, tmp_path, spark):
    del spark
    folder, feeds = tmp_path / "in", tmp_path / "feeds"
    for one in (folder, feeds):
        one.mkdir(exist_ok=True)
    (folder / "a.jsonl").write_text(json.dumps({"player": "anna", "bpm": 60}) + "\n")
    feeds = tmp_path / "declared"
    feeds.mkdir()
    (feeds / "beats.yaml").write_text(YAML.format(folder=folder))
    return settings.model_copy(update={"feeds": feeds})


def columns_of(event):
    (output,) = event["outputs"]
    fields = output["facets"]["columnLineage"]["fields"]
    return {
        name: [(one["name"].rpartition("/")[2], one["field"]) for one in made["inputFields"]]
        for name, made in fields.items()
    }


def test_each_step_of_a_lake_is_told_with_what_it_read_and_wrote(lake, keeper):
    assert lake_assets_here(lake, "stream", "--until-caught-up").returncode == 0
    assert lake_assets_here(lake, "refresh", "--view", "pace").returncode == 0
    assert lake_assets_here(lake, "refresh", "--view", "wrong").returncode == 1
    events = keeper.events(8)
    told = [(one["eventType"], one["job"]["name"]) for one in events]
    assert sorted(told[:4]) == [
        ("COMPLETE", "beats.demux"),
        ("COMPLETE", "beats.ingest"),
        ("START", "beats.demux"),
        ("START", "beats.ingest"),
    ]
    assert told[4:] == [
        ("START", "beats.refresh.pace"),
        ("COMPLETE", "beats.refresh.pace"),
        ("START", "beats.refresh.wrong"),
        ("FAIL", "beats.refresh.wrong"),
    ]
    silver = "silver_beats_events"
    assert columns_of(events[5]) == {"player": [(silver, "player")], "mean": [(silver, "bpm")]}
    assert "no_such" in events[7]["run"]["facets"]["errorMessage"]["message"]
