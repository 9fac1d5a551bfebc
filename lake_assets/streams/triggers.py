"""How often micro-batches and refreshes come, and into how many tasks each is cut. Pure."""

from datetime import timedelta

from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import StreamSettings

_FOLLOW_S = 0.25
"""Seconds between two looks of demux at bronze. Spark fires triggers at multiples of their interval
on the clock, so with ingest's own interval demux would begin a whole one after each of ingest's
batches. Each look lists bronze's log: at 0.25 both queries together take 3 % of a core when idle,
and 2 % when demux looks once a second."""

_ROWS_PER_TASK = 10_000
"""Below, handing a task to a Python worker costs more than its rows do, 30-50 ms of CPU."""

_ROWS_PER_FILE = 200
"""A file costs as much CPU as that many rows, 1.5 ms; each task writes a file a table of its own,
and each file costs all who read the table later."""


_LIVE_PAUSE_S = 2.0
"""Between two refreshes of a live view. Each writes files and a commit for every key that changed,
and costs about the same for the rows of one second as for those of three."""

_FIRST_PAUSE_S = 2.0

_LONGEST_PAUSE_S = 120.0
"""A cause that was repaired is noticed within this time."""


def retry_delay_s(failures: int) -> float:
    """Seconds before what failed is tried again, by its failures in a row: 2, 4, 8, … 120."""
    # The exponent is bounded so that a year of failures does not overflow a float.
    return min(_FIRST_PAUSE_S * 2.0 ** min(failures - 1, 32), _LONGEST_PAUSE_S)


def next_refresh_at(pace: timedelta | None, began: float, ended: float) -> float:
    """When a view may be refreshed next, if silver has something new by then.

    Live views take half of the time at most, so that a slow one leaves Spark to the streams.

    Args:
        pace: time between the starts of two refreshes; none or zero of a live view.
        began: when the last one began, in seconds, as is what comes back.
        ended: when it ended.
    """
    rest_s = max(_LIVE_PAUSE_S, ended - began)
    return max(ended + rest_s, began + (pace.total_seconds() if pace else 0.0))


def ingest_every_s(feed: Feed, stream: StreamSettings) -> float:
    """Seconds between the starts of two micro-batches of ingest: the feed's, or the default."""
    return stream.trigger_s if feed.trigger is None else feed.trigger.total_seconds()


def demux_every_s(feed: Feed, stream: StreamSettings) -> float:
    """Seconds between two looks of demux for rows; ingest's pace decides how many come at once."""
    return min(_FOLLOW_S, ingest_every_s(feed, stream))


def tasks_of(rows: int, tables: int, cores: int) -> int:
    """How many tasks a micro-batch of demux is worth, from one up to one a core.

    One writes at most a file a table. Rows are cut further only where each task then has enough of
    them to be worth its start, and its files enough to be worth theirs: 3,000 rows for 1,000 tables
    are 1,000 files of one task, where two tasks would leave 1,750 and take no less time.

    Args:
        rows: of the batch.
        tables: that it may touch.
        cores: tasks that run at once.
    """
    enough = max(_ROWS_PER_TASK, _ROWS_PER_FILE * tables)
    return min(cores, max(1, rows // enough))


def view_tasks_of(cores: int | None) -> int | None:
    """Tasks that a refresh beside streams has at once: one a core but one.

    Args:
        cores: of the machine; None of a cluster, where they come and go, and so has the answer.
    """
    return None if cores is None else max(1, cores - 1)
