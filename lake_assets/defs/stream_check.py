"""The check `stream_keeps_up` on bronze: whether a feed's stream runs and gets on, and why not.

The sensor `observer` tells its result, also while nothing runs; "Execute" in the UI looks at once.
Alerts tell of streams by what the supervisor sees, and leave this check out.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import dagster as dg

from lake_assets.defs.internals.asset_checks import evaluation
from lake_assets.defs.keys import bronze_key, identifier_of
from lake_assets.defs.processes import note_process
from lake_assets.model.checks import Severity
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.streams.stream_standing import StreamStanding, StreamState, standing_of

_DESCRIPTION = (
    "The feed's stream runs, with the definitions that are loaded, and is at most {late_s:.0f} s "
    "behind its source. It warns while somebody has stopped it deliberately, while it waits or is "
    "late; it is an error where nothing streams, or a batch has failed again and again."
)

LATE_S = 60.0
"""Seconds of lag from which on a stream is late: a batch takes seconds, a restart half a minute."""

ABSENT_AFTER_S = 120.0
"""Seconds without streams that are an error: a deploy and the end of a run's time take less."""

_SEVERITIES = {
    StreamState.BLOCKED: Severity.ERROR,
    StreamState.NOT_RUNNING: Severity.ERROR,
    StreamState.STOPPED: Severity.WARN,
    StreamState.STOPPING: Severity.WARN,
    StreamState.WAITING: Severity.WARN,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamSeen:
    """What is known of a feed's stream at a moment."""

    standing: StreamStanding
    for_s: float = ABSENT_AFTER_S
    """For how long it has been in its state, at least."""

    lag_rows: int | None = None
    lag_s: float | None = None
    """None where nobody has asked its source."""

    is_outdated: bool = False
    """Whether it runs with older definitions than are loaded."""

    @property
    def is_late(self) -> bool:
        """Whether it is further behind than a batch or a restart makes it."""
        return self.lag_s is not None and self.lag_s > LATE_S

    @property
    def severity(self) -> Severity | None:
        """How bad that is; None if it is not."""
        state = self.standing.state
        if state is StreamState.NOT_RUNNING and self.for_s < ABSENT_AFTER_S:
            return None
        at_least = Severity.WARN if self.is_late or self.is_outdated else None
        return _SEVERITIES.get(state, at_least)

    @property
    def what(self) -> str:
        """What of it is news where it is another than before."""
        return f"{self.standing.state}|{self.standing.detail}|{self.severity}|{self.is_outdated}"


def check_key(settings: Settings, feed: Feed) -> dg.AssetCheckKey:
    """The check's key."""
    return dg.AssetCheckKey(bronze_key(settings, feed), "stream_keeps_up")


def stream_check(settings: Settings, feed: Feed) -> dg.AssetChecksDefinition:
    """The check of a feed's bronze."""
    key, lake = check_key(settings, feed), lake_id(settings)
    description = _DESCRIPTION.format(late_s=LATE_S)

    @dg.multi_asset_check(
        name=f"{identifier_of(key.asset_key)}_{key.name}",
        specs=[dg.AssetCheckSpec(key.name, asset=key.asset_key, description=description)],
        can_subset=True,
    )
    def check(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckEvaluation]:
        note_process(context.instance, context.run.run_id, lake)
        seen = StreamSeen(standing=standing_of(settings, feed))
        yield stream_evaluation(settings, feed, seen, context.instance)

    return check


def stream_evaluation(
    settings: Settings, feed: Feed, seen: StreamSeen, instance: dg.DagsterInstance
) -> dg.AssetCheckEvaluation:
    """The check's result, on bronze's latest materialization."""
    key = check_key(settings, feed)
    latest = instance.fetch_materializations(key.asset_key, limit=1).records
    return evaluation(
        check=key,
        partition=None,
        run_id=latest[0].run_id if latest else "",
        storage_id=latest[0].storage_id if latest else None,
        severity=seen.severity,
        metadata=metadata_of(seen),
    )


def metadata_of(seen: StreamSeen) -> dict[str, dg.MetadataValue]:
    """What is shown of it."""
    standing = seen.standing
    found: dict[str, dg.MetadataValue] = {"stream": dg.MetadataValue.text(str(standing.state))}
    if standing.state in {StreamState.STOPPED, StreamState.STOPPING}:
        found["stopped_deliberately"] = dg.MetadataValue.text(standing.detail)
    elif standing.detail:
        found["detail"] = dg.MetadataValue.text(standing.detail)
    if seen.is_outdated:
        words = "older than those that are loaded; the supervisor starts the streams again once"
        found["definitions"] = dg.MetadataValue.text(words)
    if seen.lag_rows is not None:
        found["lag_rows"] = dg.MetadataValue.int(seen.lag_rows)
    if seen.lag_s is not None:
        found["lag_seconds"] = dg.MetadataValue.float(round(seen.lag_s, 1))
    found["looked_at"] = dg.MetadataValue.timestamp(time.time())
    return found
