"""What two scrapes of the streams say together, as people and programs want to read it. Pure.

A counter says something by how far it came between the two; a gauge by the later one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Scrape:
    """One answer of `/metrics`, and when it came, in seconds of a clock that only goes on."""

    at: float
    samples: Mapping[str, Mapping[Labels, float]]
    """By name without `lake_assets_`, and by labels."""

    @classmethod
    def parse(cls, text: str, at: float) -> "Scrape":
        """Read the answer.

        Raises:
            ValueError: it is not what Prometheus reads.
        """
        samples: dict[str, dict[Labels, float]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                name = sample.name.removeprefix("lake_assets_")
                samples.setdefault(name, {})[frozenset(sample.labels.items())] = sample.value
        return cls(at, samples)

    def values(self, name: str, **labels: str) -> Mapping[Labels, float]:
        """Those samples of a metric that have these labels."""
        wanted = labels.items()
        found = self.samples.get(name, {})
        return {of: value for of, value in found.items() if wanted <= dict(of).items()}

    def total(self, name: str, **labels: str) -> float:
        """The sum of them; 0 without any."""
        return sum(self.values(name, **labels).values())

    def most(self, name: str, **labels: str) -> float | None:
        """The largest of them; None without any."""
        return max(self.values(name, **labels).values(), default=None)

    def named(self, name: str, label: str) -> list[str]:
        """The values that a label of a metric has."""
        return sorted({dict(of)[label] for of in self.samples.get(name, {})})


@dataclass(frozen=True, kw_only=True, slots=True)
class StageLine:
    """One stage of a feed."""

    rows_per_s: float
    batches_per_s: float
    phases: Mapping[str, float]
    """Seconds of a batch by phase, on average of those that ended between the scrapes; of all since
    the streams began, where none did."""

    lag_rows: float | None
    lag_s: float | None
    """None where it is not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedLine:
    """One feed."""

    feed: str
    ingest: StageLine
    demux: StageLine
    quarantine_share: float
    """Of demux's rows between the scrapes; of all since streams began, where there were none."""

    quiet_s: float | None
    """Since a batch ended, or there was nothing to do; None of a feed that does not run now."""

    next_run_s: float | None = None
    """Seconds until it runs; None of a feed without a schedule."""

    problem: str = ""
    """Why it is not ready, in words; empty if it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewLine:
    """One gold view."""

    feed: str
    view: str
    age_s: float | None
    """Since it was refreshed; None if it was not since the streams began."""

    last_s: float | None
    """Seconds of that refresh."""

    refreshing_s: float
    """Seconds since one began that is under way; 0 if none is."""

    ways: Mapping[str, float]
    """Keys refreshed since the streams began, by way."""

    failures: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """The streams, as they are."""

    up_s: float
    """Seconds since they began."""

    feeds: tuple[FeedLine, ...]
    views: tuple[ViewLine, ...]
    memory: Mapping[str, float] = field(default_factory=dict)
    """Bytes by process."""

    disk_free: float | None = None
    disk_size: float | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
    """By what they are about, feeds aside, in words."""


def snapshot_of(
    before: Scrape, now: Scrape, wall_s: float, problems: Mapping[str, str]
) -> Snapshot:
    """What two scrapes of the same process say.

    Args:
        before: the earlier one; `now` itself, if there is none.
        now: the later one.
        wall_s: the time by the wall clock, in seconds since 1970.
        problems: what `/readyz` tells.
    """
    scheduled = now.named("feed_next_run_timestamp_seconds", "feed")
    feeds = sorted({*now.named("feed_waiting", "feed"), *scheduled})
    views = sorted(
        (dict(of)["feed"], dict(of)["view"]) for of in now.samples.get("view_failures_total", {})
    )
    began_at = now.most("start_time_seconds")
    return Snapshot(
        up_s=0.0 if began_at is None else max(0.0, wall_s - began_at),
        feeds=tuple(_feed(before, now, feed, wall_s, problems.get(feed, "")) for feed in feeds),
        views=tuple(_view(now, feed, view, wall_s) for feed, view in views),
        memory={dict(of)["process"]: size for of, size in now.values("memory_bytes").items()},
        disk_free=now.most("disk_free_bytes"),
        disk_size=now.most("disk_size_bytes"),
        problems={about: why for about, why in problems.items() if about not in feeds},
    )


def _feed(before: Scrape, now: Scrape, feed: str, wall_s: float, problem: str) -> FeedLine:
    next_run_at = now.most("feed_next_run_timestamp_seconds", feed=feed)
    source = now.values("source_lag_rows", feed=feed)
    return FeedLine(
        feed=feed,
        ingest=_stage(
            before,
            now,
            {"feed": feed, "stage": "ingest"},
            lag_rows=sum(source.values()) if source else None,
            lag_s=now.most("source_lag_seconds", feed=feed),
        ),
        demux=_stage(
            before,
            now,
            {"feed": feed, "stage": "demux"},
            lag_rows=now.most("demux_lag_rows", feed=feed),
            lag_s=now.most("demux_lag_seconds", feed=feed),
        ),
        quarantine_share=_share(before, now, feed),
        quiet_s=now.most("feed_quiet_seconds", feed=feed),
        next_run_s=None if next_run_at is None else max(0.0, next_run_at - wall_s),
        problem=problem,
    )


def _stage(
    before: Scrape,
    now: Scrape,
    labels: Mapping[str, str],
    *,
    lag_rows: float | None,
    lag_s: float | None,
) -> StageLine:
    batches = _gained(before, now, "batch_seconds_count", labels)
    since = before if batches else None
    count = batches or now.total("batch_seconds_count", **labels)
    phases = sorted({dict(of)["phase"] for of in now.values("batch_phase_seconds_total", **labels)})
    spent = {
        phase: _gained(since, now, "batch_phase_seconds_total", {**labels, "phase": phase})
        for phase in phases
    }
    return StageLine(
        rows_per_s=_rate(before, now, "rows_total", labels),
        batches_per_s=_rate(before, now, "batch_seconds_count", labels),
        phases={phase: seconds / count for phase, seconds in spent.items()} if count else {},
        lag_rows=lag_rows,
        lag_s=lag_s,
    )


def _share(before: Scrape, now: Scrape, feed: str) -> float:
    labels = {"feed": feed, "stage": "demux"}
    refused = {**labels, "outcome": "quarantine"}
    for since in (before, None):
        rows = _gained(since, now, "rows_total", labels)
        if rows:
            return _gained(since, now, "rows_total", refused) / rows
    return 0.0


def _view(now: Scrape, feed: str, view: str, wall_s: float) -> ViewLine:
    labels = {"feed": feed, "view": view}
    refreshed_at = now.most("view_refreshed_timestamp_seconds", **labels)
    ways = now.values("view_refreshes_total", **labels)
    return ViewLine(
        feed=feed,
        view=view,
        age_s=None if refreshed_at is None else max(0.0, wall_s - refreshed_at),
        last_s=now.most("view_refresh_last_seconds", **labels),
        refreshing_s=now.most("view_refreshing_seconds", **labels) or 0.0,
        ways={dict(of)["way"]: keys for of, keys in ways.items()},
        failures=now.total("view_failures_total", **labels),
    )


def _gained(before: Scrape | None, now: Scrape, name: str, labels: Mapping[str, str]) -> float:
    """How far a counter came since `before`; since the process began, if that is None."""
    return now.total(name, **labels) - (before.total(name, **labels) if before else 0.0)


def _rate(before: Scrape, now: Scrape, name: str, labels: Mapping[str, str]) -> float:
    passed = now.at - before.at
    return _gained(before, now, name, labels) / passed if passed > 0 else 0.0


def is_same_process(before: Scrape, now: Scrape) -> bool:
    """Whether counters of two scrapes go on from each other."""
    return before.most("start_time_seconds") == now.most("start_time_seconds")
