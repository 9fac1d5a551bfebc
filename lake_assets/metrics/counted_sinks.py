"""Counters of what was delivered to sinks: every name, unit and label that they have."""

from collections.abc import Sequence

import prometheus_client as prometheus
from prometheus_client import CollectorRegistry, Gauge

from lake_assets.model.feeds import Feed
from lake_assets.model.reports import DeliveryReport, SinkEvent

OUTCOMES = ("delivered", "dead")


class CountedSinks:
    """All counters of some feeds' sinks; each series is there from the beginning. Thread-safe."""

    def __init__(self, registry: CollectorRegistry, feeds: Sequence[Feed]) -> None:
        """Register them."""
        of_sink = ["feed", "sink"]
        self._rows = prometheus.Counter(
            "lake_assets_sink_rows",
            "Rows that a sink is done with, by outcome: delivered, or dead (a dead letter).",
            [*of_sink, "outcome"],
            registry=registry,
        )
        self._calls = prometheus.Counter(
            "lake_assets_sink_calls", "Calls of a sink, tries apart.", of_sink, registry=registry
        )
        self._retries = prometheus.Counter(
            "lake_assets_sink_retries", "Further tries of calls.", of_sink, registry=registry
        )
        self._latency = Gauge(
            "lake_assets_sink_latency_seconds",
            "Seconds of the calls that were delivered last, by quantile.",
            [*of_sink, "quantile"],
            registry=registry,
        )
        self._stopped = Gauge(
            "lake_assets_sink_stopped",
            "1 while a sink stands still, since no call can be made as things are.",
            of_sink,
            registry=registry,
        )
        for feed in feeds:
            for sink in feed.sinks:
                labels = (feed.feed, sink.name)
                for outcome in OUTCOMES:
                    self._rows.labels(*labels, outcome)
                for of_one in (self._calls, self._retries, self._stopped):
                    of_one.labels(*labels)

    def add(self, event: SinkEvent) -> None:
        """Count in what became of a sink."""
        labels = (event.feed, event.sink)
        self._stopped.labels(*labels).set(0 if isinstance(event, DeliveryReport) else 1)
        if not isinstance(event, DeliveryReport):
            return
        for outcome, rows in zip(OUTCOMES, (event.rows, event.dead_rows), strict=True):
            self._rows.labels(*labels, outcome).inc(rows)
        self._calls.labels(*labels).inc(event.calls)
        self._retries.labels(*labels).inc(event.retries)
        for name, quantile in (("p50", "0.5"), ("p99", "0.99"), ("max", "1")):
            if name in event.latency_s:
                self._latency.labels(*labels, quantile).set(event.latency_s[name])
