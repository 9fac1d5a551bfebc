"""The folder of an export: files that are complete once they have their names, and the record.

A file is written under a hidden name, then counted in the record, then renamed: whatever dies in
between, the next opening knows by the record and the hidden name whether it is complete. So a file
may be read, moved or deleted by others as soon as it is seen. What is in files, `lines` says.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from lake_assets.errors import ExportError
from lake_assets.export.lines import ENDINGS
from lake_assets.export.names import FileName, is_part, part_of, stem_of
from lake_assets.export.record import Record
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.runtime.file_lock import try_lock
from lake_assets.storage.durability import sync_file

_BUFFER = 1024 * 1024

_ELSEWHERE = "Export into another folder"


@dataclass(kw_only=True, slots=True)
class PartFile:
    """A file that is being written."""

    partition: int
    first: int
    path: Path
    stream: BinaryIO
    rows: int = 0
    size: int = 0
    """Bytes."""

    def write(self, content: bytes) -> None:
        """Add a record.

        Raises:
            ExportError: the disk does not take it.
        """
        try:
            self.stream.write(content)
        except OSError as problem:
            raise _unwritable(self.path.parent, problem) from problem
        self.rows += 1
        self.size += len(content)


@dataclass(kw_only=True, slots=True)
class ExportFolder:
    """Used by one process at a time, which holds its lock."""

    path: Path
    topic: str
    stem: str
    record: Record | None = field(default=None)
    """As it is on the disk; None of an export that begins."""

    def put(self, record: Record) -> None:
        """Write the record.

        Raises:
            ExportError: the disk does not take it.
        """
        try:
            replace_text(_record_of(self.path, self.topic), record.text())
            sync_file(self.path)
        except OSError as problem:
            raise _unwritable(self.path, problem) from problem
        self.record = record

    @contextmanager
    def part(self, number: int, partition: int, first: int) -> Iterator[PartFile]:
        """Begin a file; what was not placed of it is gone at the end of the block.

        Raises:
            ExportError: the disk does not take it.
        """
        path = self.path / part_of(self.stem, number, partition, first)
        try:
            stream = path.open("wb", buffering=_BUFFER)
        except OSError as problem:
            raise _unwritable(self.path, problem) from problem
        try:
            yield PartFile(partition=partition, first=first, path=path, stream=stream)
        finally:
            # What is in the buffer of a full disk cannot be written, and is not needed.
            with suppress(OSError):
                stream.close()
            path.unlink(missing_ok=True)

    def place(self, part: PartFile, after: int, record: Record) -> FileName:
        """Give a file its name, and put the record that counts it.

        Args:
            part: the file.
            after: the offset after the last that it stands for.
            record: how the export stands with it.

        Raises:
            ExportError: the disk does not take it.
        """
        name = FileName(
            stem=self.stem,
            number=record.number - 1,
            partition=part.partition,
            first=part.first,
            after=after,
            ending=ENDINGS[record.format],
        )
        try:
            part.stream.close()
            sync_file(part.path)
            sync_file(self.path)
            told = {"placing": str(name), "placing_size": part.size}
            self.put(record.model_copy(update=told))
            part.path.replace(self.path / str(name))
            sync_file(self.path)
        except OSError as problem:
            raise _unwritable(self.path, problem) from problem
        return name


@contextmanager
def open_folder(path: Path, topic: str) -> Iterator[ExportFolder]:
    """Open the folder of a topic's export, made if need be, as the last one to be in it left it.

    Raises:
        ExportError: it cannot be written or is in use; or what it has is of another topic, torn, or
            of an export whose record is missing or older than the files.
    """
    folder = ExportFolder(path=path, topic=topic, stem=stem_of(topic))
    with ExitStack() as stack:
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = try_lock(path / f".{folder.stem}.export.lock")
            if not stack.enter_context(lock):
                fact = f"another process exports topic {topic!r} into it"
                raise ExportError(f"folder {path}", fact, "Let it end, or stop it")
            folder.record = _read(path, topic)
            _recover(folder)
        except OSError as problem:
            raise _unwritable(path, problem) from problem
        yield folder


def _recover(folder: ExportFolder) -> None:
    """Finish what the last export left half done, and drop what it had not counted."""
    placing = _placing(folder)
    if placing is not None and not _is_complete(folder, placing):
        folder.put(_without(folder.record, placing))
        placing = None
    known = folder.record.offsets if folder.record else {}
    found: list[FileName] = []
    with os.scandir(folder.path) as entries:  # as many as the feed left there
        for entry in entries:
            name = FileName.parse(folder.stem, entry.name)
            if placing is not None and entry.name == placing.part:
                Path(entry).replace(folder.path / str(placing))
            elif is_part(folder.stem, entry.name) or _is_staged_record(folder, entry.name):
                Path(entry).unlink()
            elif name is not None and name.after > known.get(name.partition, 0):
                found.append(name)
    if folder.record is not None and found:
        folder.put(_with_files(folder, folder.record, found))
    elif found:
        fact = f"has files of an export of topic {folder.topic!r}, and not its record"
        step = f"Put {_record_of(folder.path, folder.topic).name} back. {_ELSEWHERE} otherwise"
        raise ExportError(f"folder {folder.path}", fact, step)


def _with_files(folder: ExportFolder, record: Record, found: list[FileName]) -> Record:
    """A record that counts the files behind it, too: it is older where a folder was copied.

    Raises:
        ExportError: they do not go on where it ends.
    """
    offsets = dict(record.offsets)
    for name in sorted(found, key=lambda name: name.number):
        at = offsets.get(name.partition, 0)
        if name.first != at:
            fact = f"has {name}, and its record ends at offset {at:,} of that partition"
            step = f"Put the newer record back, or the files between. {_ELSEWHERE} otherwise"
            raise ExportError(f"folder {folder.path}", fact, step)
        offsets[name.partition] = name.after
    number = max(record.number, *(name.number + 1 for name in found))
    untold = {name.partition for name in found}
    newest = {partition: one for partition, one in record.newest.items() if partition not in untold}
    update = {"offsets": offsets, "number": number, "newest": newest, "placing": None}
    return record.model_copy(update=update)


def _placing(folder: ExportFolder) -> FileName | None:
    if folder.record is None or folder.record.placing is None:
        return None
    name = FileName.parse(folder.stem, folder.record.placing)
    if name is None:
        raise _torn(folder.path, folder.topic)
    return name


def _is_complete(folder: ExportFolder, placing: FileName) -> bool:
    """Whether what was counted is all there, if it has not its name yet."""
    size = folder.record.placing_size if folder.record else None
    try:
        return size in {None, (folder.path / placing.part).stat().st_size}
    except FileNotFoundError:
        return True


def _without(record: Record | None, placing: FileName) -> Record:
    """A record that does not count its newest file, which is exported again."""
    assert record is not None  # noqa: S101 - it named the file
    partition = placing.partition
    newest = {number: one for number, one in record.newest.items() if number != partition}
    offsets = {**record.offsets, partition: placing.first}
    update = {"offsets": offsets, "newest": newest, "placing": None, "placing_size": None}
    return record.model_copy(update=update)


def _record_of(path: Path, topic: str) -> Path:
    return path / f".{stem_of(topic)}.export.json"


def _is_staged_record(folder: ExportFolder, name: str) -> bool:
    return name.startswith(f".{_record_of(folder.path, folder.topic).name}.")


def _read(path: Path, topic: str) -> Record | None:
    try:
        content = _record_of(path, topic).read_bytes()
    except FileNotFoundError:
        return None
    record = Record.read(content)
    if record is None:
        raise _torn(path, topic)
    if record.topic != topic:
        fact = f"is the record of an export of topic {record.topic!r}, not of {topic!r}"
        raise ExportError(str(_record_of(path, topic)), fact, _ELSEWHERE)
    return record


def _torn(path: Path, topic: str) -> ExportError:
    fact = "is no record of an export, or damaged: how far the topic was exported is not known"
    return ExportError(
        str(_record_of(path, topic)), fact, f"Put it back from a copy. {_ELSEWHERE} otherwise"
    )


def _unwritable(path: Path, problem: OSError) -> ExportError:
    if isinstance(problem, FileExistsError | NotADirectoryError):
        return ExportError(f"folder {path}", "is none: a file is there", "Name another folder")
    fact = f"cannot be written ({problem.strerror or problem})"
    step = (
        "Correct its permissions, free some space, or name another folder; run again, it goes on "
        "where it ended"
    )
    return ExportError(f"folder {path}", fact, step)
