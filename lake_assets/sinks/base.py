"""The contract of a sink: calls come in, and each comes out delivered or given up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, Self

import pyarrow as pa

from lake_assets.sinks.far_times import python_values

IDENTITY = pa.schema(
    [
        ("table", pa.string()),  # of the lake, as `silver/silver_chess_events`
        ("feed", pa.string()),  # that read it; several may fill the table
        ("source", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("source_time", pa.timestamp("us", tz="UTC")),  # 1970 of a source that tells none
        ("ordinal", pa.int32()),  # which row of its origin's in that table; 0 of the only one
    ]
)
"""Columns by which a row that is sent is told from all others; none is null.

The time is among them since offsets may begin again: of a topic that was made anew, and of a broker
that lost rows and gave their offsets to others.

Of a view's row the source is the table's id and the row's key, the offset the version of the table
that brought it, and the time a sink's own, which only grows (`sinks.view_position`).
"""


class DeletedRow(dict[str, Any]):
    """Fields of a row that is gone from its view, as they were."""


def origins_of(rows: pa.Table) -> list[str]:
    """Where rows (`IDENTITY`) came from, one text a row, by which it is told from all others."""
    times = python_values(rows["source_time"])
    places = rows.drop_columns("source_time").to_pylist()
    return [_origin(place, at) for place, at in zip(places, times, strict=True)]


def _origin(row: Mapping[str, Any], time: datetime | str) -> str:
    at = time if isinstance(time, str) else time.isoformat(timespec="microseconds")
    place = f"{row['source']}/{row['partition']}/{row['offset']}/{row['ordinal']}"
    return f"{row['table']}/{row['feed']}/{place}@{at}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why a row cannot be sent, before anybody is asked."""

    reason: str
    """In words."""

    value: str = ""
    """What the source had, bounded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """Some rows that go out together, or not at all."""

    number: int
    """Within its batch, counted from 1."""

    key: str
    """The same whenever the same rows go together; another one for any others."""

    rows: pa.Table
    """Which rows they are: `IDENTITY`."""

    body: Any
    """What `Target.body_of` made of them; only the target looks into it."""

    refusal: "Refusal | None" = None
    """Why it is not made: its rows are dead letters at once."""

    def part(self, numbers: Sequence[int], body: Any) -> "Call":  # noqa: ANN401 - the target's
        """Some of its rows, by their places, where the others fare otherwise; under its key."""
        return replace(self, rows=self.rows.take(pa.array(numbers, pa.int64())), body=body)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of a call, or of a part of it."""

    call: Call
    is_delivered: bool
    """Else it was given up, and its rows are dead letters."""

    tries: int
    seconds: float
    """That its last try took."""

    status: int | None = None
    """The last answer's, if there was one."""

    reason: str = ""
    """Why it was given up, in words."""

    request: str = ""
    """Of what was given up: what was sent, bounded and without secrets."""

    response: str = ""
    """Of what was given up: what came back, likewise."""


def refused(call: Call) -> Outcome:
    """What becomes of a call that is not made."""
    assert call.refusal is not None  # noqa: S101 - the caller looked
    return Outcome(
        call=call,
        is_delivered=False,
        tries=0,
        seconds=0.0,
        reason=call.refusal.reason,
        request=call.refusal.value,
    )


class Target(Protocol):
    """Whom rows are delivered to, for as long as it is entered; within one event loop."""

    rows_per_call: int
    """Most rows of a call."""

    in_flight: int
    """Most calls at the same time."""

    async def __aenter__(self) -> Self:
        """Get ready; raises as `deliver`."""
        ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of connections."""

    def rows_of(self, columns: Mapping[str, pa.Array]) -> list[dict[str, Any]]:
        """Shaped columns as rows of values that can be sent. Called in any thread."""
        ...

    def body_of(self, rows: Sequence[Mapping[str, Any]]) -> Any:  # noqa: ANN401 - its own
        """What is sent of some of these rows. Called in any thread."""
        ...

    async def deliver(self, call: Call) -> Sequence[Outcome]:
        """Make a call until it is delivered or given up; may take long, and may be cancelled.

        Each of its rows is in one outcome: that of the whole call, or of a part (`Call.part`). A
        call that was cancelled, or whose outcome was not recorded, comes again with its key.

        Raises:
            SinkError: no call can be made as things are, whichever rows it has.
        """
        ...
