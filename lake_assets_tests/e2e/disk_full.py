"""Runs the streams into a lake whose disk is full, makes space once they wait, and counts the rows.

`python -m lake_assets_tests.e2e.disk_full`, a `Job` as JSON on standard input, in a mount namespace
of its own: the lake becomes a file system of 40 MB in memory. Prints what was seen as JSON.
"""

import json
import logging
import os
import subprocess
import sys

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.reports import Waiting
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.state.files import read_heartbeat
from lake_assets.streams.run import stream_events
from lake_assets_tests.e2e.doomed import Job
from lake_assets_tests.table_logs import rows_in

_LEFT_BYTES = 256 * 1024
"""Of the disk, before the streams start: their journals fit, and the rows do not."""


def main() -> None:
    """Run to the end."""
    logging.basicConfig(level=logging.ERROR)
    job = Job.model_validate_json(sys.stdin.read())
    lake = job.settings.lake_dir
    lake.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "none", lake], check=True)  # noqa: S603, S607
    ballast = lake / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, os.statvfs(lake).f_bavail * 4096 - _LEFT_BYTES)
    said = []
    endpoints = Endpoints(kafka=job.kafka, registry=job.registry)
    for event in stream_events(
        job.settings, [job.feed], endpoints, owner="test", until_caught_up=True
    ):
        if isinstance(event, Waiting):
            said.append(event.reason)
            ballast.unlink(missing_ok=True)
    places = {}
    for table in (bronze_of(job.feed.feed), quarantine_of(job.feed.feed)):
        rows = rows_in(lake / table.relative, ["partition", "offset"])
        places[table.name] = sorted(map(list, zip(*rows.to_pydict().values(), strict=True)))
    beat = read_heartbeat(job.settings.state_dir)
    print(json.dumps({"said": said, "places": places, "beat": beat is not None}))  # noqa: T201


if __name__ == "__main__":
    main()
