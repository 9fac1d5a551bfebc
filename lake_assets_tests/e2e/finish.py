"""Runs the streams until they are caught up, as the CLI does, with a `Job` on standard input."""

import sys

from lake_assets.model.endpoints import Endpoints
from lake_assets.streams.run import stream_events
from lake_assets_tests.e2e.doomed import Job


def main() -> None:
    """Run, and print what happens."""
    job = Job.model_validate_json(sys.stdin.read())
    endpoints = Endpoints(kafka=job.kafka, registry=job.registry)
    for event in stream_events(job.lake, [job.feed], endpoints, owner="test", until_caught_up=True):
        print(event)  # noqa: T201 - seen where a test fails


if __name__ == "__main__":
    main()
