"""Rounds: who runs when, so that a disturbance of the machine hits all peers alike."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from lake_assets.bench.ground import Ground
from lake_assets.bench.peers import Peer

OnRun = Callable[[int, str, float], None]


def play(
    peers: Sequence[Peer],
    runs: int,
    ground: Callable[[], AbstractContextManager[Ground]],
    *,
    on_run: OnRun = lambda *_: None,
) -> dict[str, list[float]]:
    """Run all peers once for nothing, then `runs` times; each round begins with the next of them.

    The first round pays for what is cold: the JVM's compiler, Python's workers, the page cache.

    Args:
        peers: who runs.
        runs: counted rounds.
        ground: what a peer runs on, anew for each.
        on_run: told the round (0 is not counted), the measure and its seconds.

    Returns:
        Seconds of the counted rounds, by measure.
    """
    found: dict[str, list[float]] = defaultdict(list)
    for turn in range(runs + 1):
        first = turn % len(peers)
        for peer in (*peers[first:], *peers[:first]):
            with ground() as given:
                seconds = peer.run(given)
            for measure, spent in seconds.items():
                on_run(turn, measure, spent)
                if turn:
                    found[measure].append(spent)
    return dict(found)
