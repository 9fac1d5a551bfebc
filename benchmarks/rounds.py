"""Rounds: who runs when, so that a disturbance of the machine hits all peers alike."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.ground import Ground
from benchmarks.peers import Peer
from lake_assets.errors import StreamError

OnRun = Callable[[int, str, float], None]

LONG_S = 60.0
"""Seconds of a run that is not repeated, fifteen times a floor of four. What is cold in a first run
is a few of them, and three more rounds would keep a user waiting for three minutes and longer."""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of the rounds."""

    seconds: dict[str, list[float]]
    """Of the runs that count, by measure."""

    once: tuple[str, ...]
    """Peers whose first run was so long that it counts, and is the only one."""

    failed: Mapping[str, str]
    """Peers that did not do their work, and why; nothing of them counts."""


def play(
    peers: Sequence[Peer],
    runs: int,
    ground: Callable[[], Ground],
    *,
    warm_up: bool = True,
    on_run: OnRun = lambda *_: None,
) -> Played:
    """Run all peers once for nothing, then `runs` times; each round begins with the next of them.

    The first round pays for what is cold: the JVM's compiler, Python's workers, the page cache. A
    peer that takes longer than `LONG_S` in it does not run again, and that run counts. One that may
    fail, and does, does not run again either.

    Args:
        peers: who runs.
        runs: counted rounds.
        ground: what a peer runs on, again for each.
        warm_up: whether there is a first round for nothing.
        on_run: told the round (0 is the first one for nothing), the measure and its seconds.

    Raises:
        StreamError: a peer failed that may not.
    """
    by_measure: dict[str, list[float]] = defaultdict(list)
    once: list[str] = []
    failed: dict[str, str] = {}
    for turn in range(0 if warm_up else 1, runs + 1):
        first = turn % len(peers)
        for peer in (*peers[first:], *peers[:first]):
            if peer.name in once or peer.name in failed:
                continue
            seconds = _run(peer, ground, failed)
            if not turn and max(seconds.values(), default=0.0) > LONG_S:
                once.append(peer.name)
            for measure, duration in seconds.items():
                on_run(turn, measure, duration)
                if turn or peer.name in once:
                    by_measure[measure].append(duration)
    lost = {measure for peer in peers if peer.name in failed for measure in peer.measures}
    counted = {
        measure: durations for measure, durations in by_measure.items() if measure not in lost
    }
    return Played(counted, tuple(once), failed)


def _run(peer: Peer, ground: Callable[[], Ground], failed: dict[str, str]) -> Mapping[str, float]:
    """Seconds by measure; none if it failed, which is noted."""
    try:
        return peer.run(ground())
    except StreamError as problem:
        if not peer.may_fail:
            raise
        failed[peer.name] = str(problem)
        return {}
