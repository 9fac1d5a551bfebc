"""Lands records until it is killed, few a commit: `python -m … SERVER STREAM LAKE`."""

import sys
from pathlib import Path

from lake_assets.sources.kinesis import landing, reader
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sources.kinesis.streams import DataStream, land

if __name__ == "__main__":
    url, name, lake = sys.argv[1:]
    landing._ROWS = 2  # noqa: SLF001 - many commits of few rows
    reader._LIMIT = 2  # noqa: SLF001
    reader._EVERY_S = 0.01  # noqa: SLF001
    source = DataStream(url=url, name=name, client=None).source()
    while True:
        land(source, LocalStore.at(Path(lake)))
        sys.stdout.write("landed\n")
        sys.stdout.flush()
