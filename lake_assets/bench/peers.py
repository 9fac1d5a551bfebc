"""The peers: every way to get the topic's events into tables that the benchmark knows."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from lake_assets.bench.floor import FLOOR, append
from lake_assets.bench.ground import Ground
from lake_assets.bench.ours import (
    BOTH,
    DEMUX,
    INGEST,
    NO_RULES,
    TEN_RULES,
    walk,
    with_ten_rules,
    without_rules,
)


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


PEERS = (
    Peer((FLOOR,), append),
    Peer((INGEST, DEMUX, BOTH), walk),
    Peer((NO_RULES,), without_rules),
    Peer((TEN_RULES,), with_ten_rules),
)
"""In the order of the report."""

MEASURES = tuple(measure for peer in PEERS for measure in peer.measures)

USUAL = (FLOOR, INGEST, DEMUX, BOTH)
"""What is measured unless `--only` asks for others."""


def peers_of(measures: Collection[str]) -> list[Peer]:
    """The peers that must run to time these."""
    return [peer for peer in PEERS if set(peer.measures) & set(measures)]
