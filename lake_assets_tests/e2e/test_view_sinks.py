"""A sink of a live view, whose streams are killed between its calls and their record."""

import json

import pytest

from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.e2e.test_rest_sinks import has_rows, killed_after, world
from lake_assets_tests.sinks.lakes import recorded
from lake_assets_tests.sinks.rest.api import running_api

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

FEED = """
feed: plays
source: {{kafka: {{topic: plays}}}}
payload: {{json: {{schema: "player string, coins int"}}}}
gold:
  - name: total
    keys: [player]
    measures: {{coins: sum(coins)}}
    refresh: live
sinks:
  - name: api
    from: gold.total
    rest: {{url: "{url}/sessions", rows_per_call: 3, calls_in_flight: 2, timeout: 30s,
           allow_private: true}}
"""


def _values(coins, count):
    return [
        json.dumps({"player": f"p{number}", "coins": coins}).encode() for number in range(count)
    ]


def _rows(calls):
    return [row for call in calls for row in json.loads(call["body"])]


def test_who_gets_a_views_rows_has_them_all_after_a_kill(settings, services, tmp_path):
    with running_api(tmp_path) as api:
        text = FEED.format(url=api.url)
        made, feed, topic = world(settings, services, tmp_path / "feeds", text, *_values(1, 20))
        # Some are answered, the others never: nothing of them is recorded yet.
        api.script(*[{}] * 4, always={"kind": "hang", "seconds": 60})
        killed_after(6, api, made, "stream")
        before = api.calls()
        assert recorded(made, feed) == []
        topic.produce(*_values(2, 10))
        api.script()
        done = lake_assets_here(made, "stream", "--until-caught-up")
        assert done.returncode == 0, done.stderr
        after = api.calls()[len(before) :]
        assert has_rows(api, 30)
    # What was begun was finished first, under the same keys; then came what changed since.
    key = "idempotency-key"
    bodies = {call["headers"][key]: call["body"] for call in after}
    assert all(bodies[call["headers"][key]] == call["body"] for call in before)
    held = {row["player"]: row["coins"] for row in _rows(after)}
    assert held == {f"p{number}": 3 if number < 10 else 1 for number in range(20)}
    assert len(_rows(after)) == 30
