"""Sinks: an asset each, which the streams write and Dagster looks at."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import dagster as dg

from lake_assets.defs.code_references import code_references
from lake_assets.defs.grouping import AssetLayer, of_feed
from lake_assets.defs.keys import bronze_key, gold_key, named, silver_key, sink_key
from lake_assets.defs.sink_check import sink_check
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import DeliveryReport
from lake_assets.model.sinks import Sink
from lake_assets.settings.schema import Settings


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """One asset a sink."""
    pairs = [(feed, sink) for feed in feeds for sink in feed.sinks]
    return dg.Definitions(
        assets=[_sink(settings, feed, sink) for feed, sink in pairs],
        asset_checks=[sink_check(settings, feed, sink) for feed, sink in pairs],
    )


def _sink(settings: Settings, feed: Feed, sink: Sink) -> dg.AssetSpec:
    return dg.AssetSpec(
        sink_key(settings, feed, sink),
        deps=[_source_of(settings, feed, sink)],
        **of_feed(settings, feed, AssetLayer.SINK),
        description=(
            f"Rows of {sink.source} that are sent to {sink.place}. Delivered by the job "
            f"`{named(settings, 'streams')}`, while it runs, or by `lake-assets deliver`."
        ),
        kinds={_KINDS.get(sink.kind, sink.kind)},
        metadata={**_address_of(sink), **code_references(settings, feed, sink=sink)},
    )


def _source_of(settings: Settings, feed: Feed, sink: Sink) -> dg.AssetKey:
    if sink.is_of_bronze:
        return bronze_key(settings, feed)
    return (
        silver_key(settings, feed)
        if sink.view is None
        else gold_key(settings, feed, feed.view(sink.view))
    )


_KINDS = {"sql": "postgres"}
"""What Dagster has a picture of, where that is another word."""


def _address_of(sink: Sink) -> dict[str, dg.MetadataValue]:
    if sink.rest is not None:
        return {"url": dg.MetadataValue.url(sink.rest.url)}
    return {"place": dg.MetadataValue.text(sink.place)}


@dataclass(slots=True)
class Deliveries:
    """What was delivered, until it is told: a materialization a sink, at a pace."""

    settings: Settings
    feeds: Sequence[Feed]
    every_s: float
    _reports: dict[dg.AssetKey, list[DeliveryReport]] = field(default_factory=dict)
    _told_at: float = field(default_factory=time.monotonic)

    def add(self, report: DeliveryReport) -> None:
        """Take in what was delivered."""
        for feed in self.feeds:
            for sink in feed.sinks:
                if (feed.feed, sink.name) == (report.feed, report.sink):
                    self._reports.setdefault(sink_key(self.settings, feed, sink), []).append(report)

    def due(self) -> Iterator[dg.AssetMaterialization]:
        """What is to be told by now."""
        if time.monotonic() - self._told_at >= self.every_s:
            yield from self.rest()

    def rest(self) -> Iterator[dg.AssetMaterialization]:
        """All that was not told yet."""
        self._told_at = time.monotonic()
        reports, self._reports = self._reports, {}
        for key, of_sink in reports.items():
            yield dg.AssetMaterialization(key, metadata=_metadata(of_sink))


def _metadata(reports: Sequence[DeliveryReport]) -> dict[str, dg.MetadataValue]:
    counts = {
        "rows": sum(report.rows for report in reports),
        "calls": sum(report.calls for report in reports),
        "retries": sum(report.retries for report in reports),
        "dead_letters": sum(report.dead_rows for report in reports),
        "errors": sum(report.failed_tries for report in reports),
    }
    metadata: dict[str, dg.MetadataValue] = {
        name: dg.MetadataValue.int(count) for name, count in counts.items()
    }
    for name in ("p50", "p99", "max"):
        # Of several runs the longest: what none of them was above.
        found = [report.latency_s[name] for report in reports if name in report.latency_s]
        if found:
            metadata[f"latency_{name}_ms"] = dg.MetadataValue.float(round(max(found) * 1000, 1))
    return metadata
