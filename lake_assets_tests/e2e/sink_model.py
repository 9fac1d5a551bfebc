"""What a sink of a random sequence's feed is to send, and what its API got."""

import json
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from lake_assets.delta.committer import Committer
from lake_assets.sinks.run import SinkRun
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.e2e.dying import KilledError
from lake_assets_tests.e2e.fault_model import Part, Sent
from lake_assets_tests.sinks.lakes import feed_with_sink
from lake_assets_tests.sinks.rest.api import Api

FAULTS = ("none", "none", "busy", "refused", "killed")
"""What may happen to calls: all is well, two are to come again, one is a dead letter, or the
process is killed before anything of them is recorded."""

_ANSWERS = {"busy": [{"status": 503}] * 2, "refused": [{"status": 422}]}

_FIELDS = {
    "id": "event_id",
    "game": "game_name",
    "topic": "_topic",
    "partition": "_partition",
    "offset": "_offset",
}


class _Forgetful(Committer):
    """Goes down before the first outcome of a sink is recorded."""

    def append(self, commits, batch):
        if any(commit.table.name.startswith("deliveries_") for commit in commits):
            raise KilledError
        return super().append(commits, batch)


@dataclass
class SinkModel:
    """A feed's sink, and the path of the API that is its own."""

    part: Part
    api: Api
    spark: SparkSession
    unsure: set[Sent] = field(default_factory=set)
    """Rows that a process sent that was killed; until they are recorded they may come again, under
    the same key, also if they left silver meanwhile."""

    @property
    def path(self) -> str:
        return f"/{self.part.topics[0].name}"

    def deliver(self, fault: str) -> int:
        """Deliver what there is, and hold what was sent to what was to be; how many rows."""
        recorded, awaited = self.part.model.recorded, self.part.sendable()
        before = len(self.api.calls(self.path))
        self.api.script(*_ANSWERS.get(fault, ()))
        with suppress(*([KilledError] if fault == "killed" else [])):
            self._run(is_killed=fault == "killed")
        self.api.script()
        calls = self.api.calls(self.path)[before:]
        sent = Counter(
            row for call in calls if call["fault"].get("status") != 503 for row in self._rows(call)
        )
        assert not sent.keys() & recorded
        assert sent.keys() <= awaited | self.unsure
        assert set(sent.values()) <= {1}, "sent twice"
        if fault == "killed":
            self.unsure.update(sent)
            self._deliver_again(calls)
        else:
            assert awaited - recorded <= sent.keys(), "not sent"
            recorded.update(sent)
        return len(sent)

    def _deliver_again(self, before: list[dict]) -> None:
        """What was called before it was recorded is called again under the same keys."""
        started = len(self.api.calls(self.path))
        self.deliver("none")
        known = {call["headers"]["idempotency-key"]: call["body"] for call in before}
        again = self.api.calls(self.path)[started:]
        bodies = {call["headers"]["idempotency-key"]: call["body"] for call in again}
        assert known == {key: bodies.get(key) for key in known}

    def _rows(self, call: dict) -> list[Sent]:
        found = []
        for row in json.loads(call["body"]):
            place = (row["topic"], row["partition"], row["offset"])
            sent = (row["game"], *place, row.get("element", 0))
            assert row["id"] == self.part.mark_of(sent)
            found.append(sent)
        return found

    def _run(self, *, is_killed: bool) -> None:
        fields = {**_FIELDS, "element": "_element"} if self.part.shape.explodes else _FIELDS
        feed = feed_with_sink(
            f"{self.api.url}{self.path}",
            feed=self.part.feed,
            select=fields,
            where=None,
            rows_per_call=2,
            calls_in_flight=2,
            timeout="60s",
        )
        settings = self.part.lake.settings
        with open_lake(settings, self.spark) as opened:
            context = opened
            if is_killed:
                committer = _Forgetful(opened.committer.store, threads=2)
                context = replace(opened, committer=committer)
            session = self.spark.newSession()
            with SinkRun(session, context, feed, feed.sinks[0], settings) as run:
                run.deliver(threading.Event())
