"""Keys that tasks leave beside the files that they write, so that nobody reads them back.

They lie in Spark's folder for a session's files, on the machine of the tasks, and go with it. Who
does not find them, or finds half of them, reads the data file.
"""

import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pyarrow as pa
from pyspark import SparkFiles

from lake_assets.model.feeds import Feed
from lake_assets.silver.file_keys import KeyColumns, keys_in


@dataclass(frozen=True, kw_only=True, slots=True)
class KeysBeside:
    """A `parquet.writer.Beside`: leaves the keys of silver's files in a folder."""

    folder: Path
    columns: KeyColumns
    tables: int
    """Targets with a lower index are silver's."""

    def __call__(self, target: int, rows: pa.Table, path: str) -> None:
        """Leave the keys of a file's rows."""
        if target >= self.tables:
            return
        keys, place = keys_in(rows, self.columns), self.folder / _name_of(path)
        written = place.with_name(f"{uuid.uuid4()}.part")
        with suppress(OSError):  # on a full disk the data files fail, and say so
            self.folder.mkdir(exist_ok=True)
            with pa.OSFile(str(written), "wb") as file, pa.ipc.new_file(file, keys.schema) as out:
                out.write_table(keys)
            written.rename(place)


def keys_folder(feed: Feed) -> Path:
    """Where the running session's tasks leave keys of a feed's files."""
    return Path(SparkFiles.getRootDirectory()) / f"keys-{feed.feed}"


def fetched(folder: Path | None, path: str) -> pa.Table | None:
    """The keys of a file, if its task left them here."""
    if folder is None:
        return None
    place = folder / _name_of(path)
    try:
        with pa.memory_map(str(place)) as file:
            return pa.ipc.open_file(file).read_all()
    except (OSError, pa.ArrowInvalid):
        return None


def sweep(folder: Path | None) -> None:
    """Delete what is here: of files that were read, and of those that came to nothing."""
    for place in folder.glob("*") if folder is not None else ():
        place.unlink(missing_ok=True)


def _name_of(path: str) -> str:
    """A data file's own name, which no other has."""
    return PurePosixPath(path).name
