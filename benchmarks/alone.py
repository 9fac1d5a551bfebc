"""One peer, once, in a process of its own: so its memory is its own and not that of others before.

`python -m benchmarks.alone` reads what to do from standard input as JSON, and settings from
the environment; `memory` starts it and watches.
"""

import json
import sys

from benchmarks.ground import Ground
from benchmarks.peers import PEERS
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.load import load_settings
from lake_assets.spark.session import start_session


def main() -> None:
    """Run the peer; a failure ends the process with its trace."""
    given = json.load(sys.stdin)
    settings = load_settings()
    (peer,) = (peer for peer in PEERS if peer.name == given["peer"])
    peer.run(
        Ground(
            start_session=lambda: start_session(settings, ensure_runtime(settings)),
            endpoints=Endpoints(**given["endpoints"], registry_access=settings.registry.access),
            settings=settings,
            feed=Feed.model_validate(given["feed"]),
            by_game=given["by_game"],
            stop=lambda: False,
        )
    )


if __name__ == "__main__":
    main()
