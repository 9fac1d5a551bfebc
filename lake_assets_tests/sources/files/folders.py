"""What tests of files share: a folder and a lake, and a reader that is asked as Spark would."""

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.sources import Source
from lake_assets.sources.files.folder import Folder as FolderPlace
from lake_assets.sources.files.reading import COLUMNS
from lake_assets.sources.files.stream import FilesReader, Reading
from lake_assets.storage.local import LocalStore

JSON = Payload(json_=JsonPayload(ddl="bpm int"))


@dataclass
class Folder:
    """A folder of files beside a lake."""

    root: Path

    @property
    def path(self) -> Path:
        return self.root / "in"

    @property
    def lake(self) -> LocalStore:
        return LocalStore.at(self.root / "lake")

    def put(self, name, *rows):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return path

    @property
    def place(self):
        return FolderPlace(self.feed().source.files)

    def feed(self, payload=JSON, **declared):
        self.path.mkdir(exist_ok=True)
        given = {"path": str(self.path), "format": "jsonl", "settle": "0s", **declared}
        return Feed(feed="beats", source=Source(files=FilesSource(**given)), payload=payload)

    def reader(self, feed=None, *, start=0, max_rows=1_000, tasks=2):
        """A query's reader that ends with what is there."""
        reading = Reading(
            feed=feed or self.feed(), lake=self.lake, start=start, max_rows=max_rows, tasks=tasks
        )
        reader = FilesReader(reading)
        reader.prepareForTriggerAvailableNow()
        return reader


def batches(reader):
    """Micro-batches until there is nothing more, each as a table in the order of offsets."""
    at = reader.initialOffset()
    try:
        while (end := reader.latestOffset(at, None)) != at:
            parts = reader.partitions(at, end)
            rows = [batch for part in parts for batch in reader.read(part)]
            reader.commit(end)
            yield pa.Table.from_batches(rows, COLUMNS).sort_by("ordinal")
            at = end
    finally:
        reader.stop()


def read(reader):
    """All of them, as one."""
    return pa.concat_tables([COLUMNS.empty_table(), *batches(reader)])


def told(rows, *columns):
    return list(zip(*(rows[name].to_pylist() for name in columns), strict=True))
