"""What tests of files share: a folder and a lake, and a reader that is asked as Spark would."""

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.payload import JsonPayload, Payload
from lake_assets.model.sources import Source
from lake_assets.sources.files.open_place import open_place, secrets_for
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
        path.write_bytes(as_lines(rows))
        return path

    def put_bytes(self, name, content):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def remove(self, name):
        (self.path / name).unlink()

    def names(self):
        return sorted(
            str(one.relative_to(self.path)) for one in self.path.rglob("*") if one.is_file()
        )

    def archived(self):
        """Names in the archive."""
        done = self.root / "done"
        return sorted(str(one.relative_to(done)) for one in done.rglob("*") if one.is_file())

    def put_archived(self, name, content):
        (self.root / "done" / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / "done" / name).write_bytes(content)

    def leaving(self, way):
        """What a feed declares whose files leave: `archive` or `delete`."""
        return {"archive": str(self.root / "done")} if way == "archive" else {"delete": True}

    @property
    def place(self):
        return self.place_of(self.feed())

    @staticmethod
    def place_of(feed):
        return open_place(feed.source.files)

    def as_json(self):
        """For `places.opened_from_json` in another process."""
        return json.dumps({"root": str(self.root)})

    def feed(self, payload=JSON, **declared):
        self.path.mkdir(exist_ok=True)
        given = {"path": str(self.path), "format": "jsonl", "settle": "0s", **declared}
        return Feed(feed="beats", source=Source(files=FilesSource(**given)), payload=payload)

    def reader(self, feed=None, *, start=0, max_rows=1_000, tasks=2):
        """A query's reader that ends with what is there."""
        feed = feed or self.feed()
        reading = Reading(
            feed=feed,
            lake=self.lake,
            start=start,
            max_rows=max_rows,
            tasks=tasks,
            secrets=secrets_for(feed.source.files),
        )
        reader = FilesReader(reading)
        reader.prepareForTriggerAvailableNow()
        return reader


def as_lines(rows):
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    return b"".join(line + b"\n" for line in lines)


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
