"""What tests of streams on a Spark cluster share: a feed of three keys, and what the lake has."""

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq

from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_log import log_of
from lake_assets.model.tables import TableRef, bronze_of
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.commandline import COMMAND
from lake_assets_tests.events import Topic
from lake_assets_tests.sample import silver_of

KEYS = ("uno", "go_fish", "rummy")

FEED = """
feed: games
source: {{kafka: {{topic: {topic}}}}}
payload: {{json: {{schema: "game string, score long"}}}}
transform: {transform}
route: {{column: game, keys: [uno, go_fish, rummy]}}
"""

Places = Counter[tuple[Any, ...]]


class Streaming(subprocess.Popen[bytes]):
    """`lake-assets stream`, until the end of the block at most."""

    def __init__(self, settings: Settings, log: Path, *options: str) -> None:
        self._log = log.open("w")
        super().__init__(
            [*COMMAND, "stream", *options],
            env=child_environment(settings),
            stdout=self._log,
            stderr=self._log,
        )

    def __exit__(self, *problem: object) -> None:
        if self.poll() is None:
            for child in psutil.Process(self.pid).children(recursive=True):
                child.kill()
            self.kill()
        super().__exit__(*problem)
        self._log.close()


def declare(folder: Path, topic: Topic, transform: str, more: str = "") -> None:
    """Write the feed's file, with more of its text at the end."""
    text = FEED.format(topic=topic.name, transform=transform)
    folder.mkdir(exist_ok=True)
    (folder / "games.yaml").write_text(text + more)


def produce(topic: Topic, many: int) -> Places:
    """Send so many rows of the keys in turn; by key and place, each once."""
    rows = [(KEYS[number % 3], number) for number in range(many)]
    places = topic.produce(*(b'{"game": "%s", "score": %d}' % (k.encode(), n) for k, n in rows))
    return Counter((key, *place) for (key, _), place in zip(rows, places, strict=True))


def differences(have: Places, wanted: Places) -> list[tuple[Any, ...]]:
    """Some rows that are lost or doubled; pytest would take minutes to compare all."""
    return [*(have - wanted), *(wanted - have)][:10]


def rows_of(settings: Settings, table: TableRef, *names: str) -> list[tuple[Any, ...]]:
    """Some columns of a table; nothing of one that is not there."""
    handle = open_table(lake_of(settings), table)
    if handle is None:
        return []
    rows = handle.to_pyarrow_table(columns=list(names))
    return list(zip(*(rows[name].to_pylist() for name in names), strict=True))


def in_silver(settings: Settings) -> Places:
    """By key and place, how often it is there."""
    return Counter(
        (key, *place)
        for key in KEYS
        for place in rows_of(settings, silver_of(key), "_partition", "_offset")
    )


def in_bronze(settings: Settings) -> Places:
    """By place, how often it is there."""
    return Counter(rows_of(settings, bronze_of("games"), "partition", "offset"))


def unnamed_files(settings: Settings, key: str) -> set[str]:
    """The files in the folder of a key's silver that its log does not name."""
    lake, table = lake_of(settings), silver_of(key)
    there = {name for name in lake.list_from(log_of(lake, table).folder) if "parquet" in name}
    handle = open_table(lake, table)
    assert handle is not None
    return there - {path.rsplit("/", 1)[-1] for path in handle.file_uris()}


def in_unnamed_files(settings: Settings) -> Places:
    """By key and place, how often it is in files of silver that no log names."""
    lake, found = lake_of(settings), Places()
    for key in KEYS:
        for name in unnamed_files(settings, key):
            with lake.open_for_reading(log_of(lake, silver_of(key)).folder / name) as source:
                rows = pq.read_table(source, columns=["_partition", "_offset"])
            places = zip(*(column.to_pylist() for column in rows.columns), strict=True)
            found.update((key, *place) for place in places)
    return found
