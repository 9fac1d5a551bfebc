"""Lands rows until it is killed, few a commit: `python -m … ADDRESS LAKE`."""

import sys
from pathlib import Path
from types import SimpleNamespace

from lake_assets.sources.postgres import landing
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sources.postgres.landings import land, source_of

if __name__ == "__main__":
    address, lake = sys.argv[1:]
    landing._ROWS = 3  # noqa: SLF001 - many commits of few rows
    source = source_of(SimpleNamespace(url=address), late="1s")
    while True:
        land(source, LocalStore.at(Path(lake)))
        sys.stdout.write("landed\n")
        sys.stdout.flush()
