"""The peers: every way to get the topic's events into tables that the benchmark knows."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import routed, selected, subjects, wrapped
from benchmarks.batches import FOREACH_BATCH, run_batches
from benchmarks.floor import FLOOR, append
from benchmarks.ground import Ground
from benchmarks.ours import (
    BOTH,
    BY_DAY,
    BY_ROW,
    BY_SPARK,
    BY_TEXT,
    COPIES,
    DEMUX,
    IN_TASKS,
    INGEST,
    NO_RULES,
    OFTEN_SENT,
    SAME_COLUMNS,
    TEN_RULES,
    TRANSFORM,
    UNIQUE,
    at_once,
    by_day,
    by_text,
    of_many_copies,
    once_per_event,
    walk,
    with_copies,
    with_same_columns,
    with_select_by_spark,
    with_select_in_tasks,
    with_ten_rules,
    with_transform_by_row,
    with_transform_of_columns,
    without_rules,
)
from benchmarks.pipelines import (
    PIPELINES,
    PIPELINES_START,
    missing_packages,
    run_pipelines,
)
from benchmarks.queries import N_QUERIES, run_queries
from benchmarks.two_feeds import APART, SHARED, into_the_same, into_their_own

FEW_TABLES = 100
"""Tables that a peer is given whose time grows with them; a thousand would take it hours."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One way, run from an empty folder each time."""

    measures: tuple[str, ...]
    """Names of what it is timed for."""

    run: Callable[[Ground], Mapping[str, float]]
    """Seconds by measure.

    Raises:
        StreamError: it failed, or did not do its work.
    """

    most_tables: int | None = None
    """More than these it is not asked to fill."""

    missing: Callable[[], list[str]] = list
    """Python packages that it needs and that are not here."""

    may_fail: bool = False
    """Whether the others go on without it if it does not do its work."""

    @property
    def name(self) -> str:
        """What it is called where it is one thing."""
        return "ours" if BOTH in self.measures else self.measures[0]


PEERS = (
    Peer((FLOOR,), append),
    Peer((BOTH,), at_once),
    Peer((INGEST, DEMUX), walk),
    Peer((N_QUERIES,), run_queries, FEW_TABLES, may_fail=True),
    Peer((FOREACH_BATCH,), run_batches, FEW_TABLES, may_fail=True),
    Peer((PIPELINES, PIPELINES_START), run_pipelines, FEW_TABLES, missing_packages, may_fail=True),
    Peer((BY_DAY,), by_day),
    Peer((BY_TEXT,), by_text),
    Peer((NO_RULES,), without_rules),
    Peer((TEN_RULES,), with_ten_rules),
    Peer((IN_TASKS,), with_select_in_tasks),
    Peer((COPIES,), with_copies),
    Peer((SAME_COLUMNS,), with_same_columns),
    Peer((BY_SPARK,), with_select_by_spark),
    Peer((selected.PER_KEY,), selected.per_key),
    Peer((selected.ALIKE,), selected.alike),
    Peer((selected.BY_SPARK,), selected.by_spark),
    Peer((SHARED,), into_the_same),
    Peer((APART,), into_their_own),
    Peer((routed.BY_SQL,), routed.by_sql),
    Peer((routed.BY_SPARK,), routed.by_spark),
    Peer((routed.SEVERAL,), routed.several),
    Peer((subjects.TWO,), subjects.of_two),
    Peer((wrapped.WRAPPED,), wrapped.in_envelopes),
    Peer((UNIQUE,), once_per_event),
    Peer((OFTEN_SENT,), of_many_copies),
    Peer((TRANSFORM,), with_transform_of_columns),
    Peer((BY_ROW,), with_transform_by_row),
)
"""In the order of the report."""

MEASURES = tuple(measure for peer in PEERS for measure in peer.measures)

USUAL = (FLOOR, INGEST, DEMUX, BOTH, N_QUERIES, FOREACH_BATCH, PIPELINES, PIPELINES_START)
"""What is measured unless `--only` asks for others."""


def peers_of(measures: Collection[str], peers: Sequence[Peer] = PEERS) -> list[Peer]:
    """The peers that must run to time these."""
    return [peer for peer in peers if set(peer.measures) & set(measures)]


def who_runs(
    measures: Collection[str], tables: int, peers: Sequence[Peer] = PEERS
) -> tuple[list[Peer], list[str]]:
    """The peers that run with so many tables, and why others do not."""
    running, notes = [], []
    for peer in peers_of(measures, peers):
        missing = peer.missing()
        if missing:
            notes.append(
                f"{peer.name} did not run: {', '.join(missing)} is not installed "
                "(make setup installs it, from the dependency group `bench`)"
            )
        elif peer.most_tables is not None and tables > peer.most_tables:
            notes.append(f"{peer.name} is not run with more than {peer.most_tables} tables")
        else:
            running.append(peer)
    return running, notes
