"""An export whose process is killed at the n-th time that it syncs or renames something.

Run as a program: brokers, topic, folder, n. Without dying it ends with 0.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from lake_assets.export.run import Request, export_topic
from lake_assets.model.endpoints import Endpoints

ROWS_PER_FILE = 10


def main(brokers: str, topic: str, folder: str, last: str) -> None:
    left = int(last)

    def dying(act: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return act(*arguments)

        return call

    for owner, name in ((os, "fsync"), (Path, "replace")):
        setattr(owner, name, dying(getattr(owner, name)))
    endpoints = Endpoints(kafka=brokers, registry="")
    export_topic(endpoints, Request(topic=topic, folder=Path(folder), rows_per_file=ROWS_PER_FILE))


if __name__ == "__main__":
    main(*sys.argv[1:])
