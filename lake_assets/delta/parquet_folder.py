"""What a folder of Parquet files has that no Delta table can: judged before it is made one. Reads.

What deltalake's own conversion takes for something else is refused: it reads hidden folders and
linked ones, passes over files without the ending, and takes types that Delta has not for others.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from lake_assets.errors import LakeError, first_line
from lake_assets.parquet.read_file import opened

LOG = "_delta_log"

_OTHER_LOGS = {LOG, ".hoodie"}
"""Folders by which a table tells which of its files count: those of Delta and of Hudi."""

_PARQUET = b"PAR1"
"""What files of Parquet begin with."""

_ENDING = ".parquet"

_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")

_NEVER_IN_A_NAME = set(" ,;{}()\n\t=")
"""What Delta takes in no column's name without column mapping."""

_NO_VALUE = {"", "__HIVE_DEFAULT_PARTITION__"}
"""What a folder's value is where it is null."""


def files_in(folder: Path) -> dict[Path, int]:
    """The Parquet files below a folder, with their sizes.

    Raises:
        LakeError: some are hidden, linked, named otherwise or of another table, or cannot be
            listed.
    """
    found: dict[Path, int] = {}
    for above in folder.resolve().parents:
        if (above / LOG).is_dir():
            fact = f"is in the Delta table {above}, whose log tells which of its files count"
            raise LakeError(str(folder), fact, "Read that table")
    try:
        for at, folders, names in os.walk(folder, onerror=_raise):
            _ensure_plain_folders(folder, Path(at), folders)
            for path in (Path(at, name) for name in names):
                if path.suffix == _ENDING and path.is_file():
                    found[path] = path.stat().st_size
                else:
                    _ensure_none_named_otherwise(folder, path)
    except OSError as problem:
        raise LakeError(str(folder), f"cannot be listed ({problem})", "See to it") from problem
    for path in found:
        _ensure_readable_by_name(folder, path.relative_to(folder))
    return dict(sorted(found.items()))


def _raise(problem: OSError) -> None:
    raise problem


def _ensure_plain_folders(folder: Path, at: Path, folders: Sequence[str]) -> None:
    for path in (at / name for name in folders):
        if path.name in _OTHER_LOGS and path != folder / LOG:
            fact = f"has {path.relative_to(folder)}, the log of a table of its own"
            raise LakeError(str(folder), fact, "Read that table, whose log tells which files count")
        if path.is_symlink():
            fact = f"has {path.relative_to(folder)}, which is a link to another folder"
            raise LakeError(str(folder), fact, "Move its files here, or name the folder it is of")


def _ensure_none_named_otherwise(folder: Path, path: Path) -> None:
    """Make sure that a file which engines would pass over is no Parquet file."""
    within = path.relative_to(folder)
    if _is_hidden(within) or not path.is_file():
        return
    with path.open("rb") as file:
        is_parquet = file.read(len(_PARQUET)) == _PARQUET
    if is_parquet:
        fact = f"has a Parquet file {within}, which would be left out"
        raise LakeError(str(folder), fact, f"Let its name end with {_ENDING}")


def _is_hidden(within: Path) -> bool:
    return any(part.startswith((".", "_")) for part in within.parts)


def _ensure_readable_by_name(folder: Path, within: Path) -> None:
    if _is_hidden(within):
        fact = f"has a hidden file {within}, as unfinished jobs leave them"
        raise LakeError(str(folder), fact, "Move it away, or name a folder without such")
    if found := _ESCAPED.search(str(within)):
        fact = f"has {within}, and readers would take {found[0]} in it for another character"
        raise LakeError(str(folder), fact, "Rename it, or read it as a feed of files")


def ensure_placed(folder: Path, files: Sequence[Path], split: pa.Schema) -> None:
    """Make sure that files are in folders of the columns, in their order, and of their types.

    Raises:
        LakeError: some are not.
    """
    for file in files:
        parts = file.relative_to(folder).parts[:-1]
        found = [part.partition("=")[0] for part in parts]
        if any("=" not in part for part in parts) or found != split.names:
            where = "/".join(parts) or "the folder itself"
            said = ", ".join(split.names) or "no column"
            fact = f"has {file.name} in {where}, and is said to be split by {said}"
            step = "Name the columns of its folders: --partition-by 'day date, country string'"
            raise LakeError(str(folder), fact, step)
        for part, field in zip(parts, split, strict=True):
            _ensure_value(folder, part, field)


def _ensure_value(folder: Path, part: str, field: pa.Field) -> None:
    """Make sure that a folder's value is of its column's type; times only who reads them knows."""
    value = part.partition("=")[2]
    if value in _NO_VALUE or pa.types.is_timestamp(field.type):
        return
    try:
        pa.scalar(value).cast(field.type)
    except pa.ArrowInvalid as problem:
        fact = f"has a folder {part}, and {field.name} is said to be {field.type}"
        raise LakeError(str(folder), fact, "Name another type: string takes all") from problem


def ensure_fit(folder: Path, files: Sequence[Path], split: pa.Schema) -> None:
    """Make sure that a Delta table can have the columns of files, and of the folders they are in.

    Raises:
        LakeError: it cannot.
    """
    columns: dict[str, pa.Field] = {}
    first: dict[str, Path] = {}
    lacking: dict[str, Path] = {}
    for file in files:
        its = _columns(file)
        _ensure_names(file, [*its.names, *split.names])
        for field in its:
            known = columns.setdefault(field.name, field)
            first.setdefault(field.name, file)
            if known.type != field.type:
                fact = (
                    f"has column {field.name} as {known.type} in "
                    f"{first[field.name].relative_to(folder)}, "
                    f"and as {field.type} in {file.relative_to(folder)}"
                )
                step = "Read it as a feed of files, which takes both"
                raise LakeError(str(folder), fact, step)
        for name in columns.keys() - {*its.names}:
            lacking.setdefault(name, file)
    for name, field in columns.items():
        before = files[: files.index(first[name])]
        without = lacking.get(name) or next(iter(before), None)
        if not field.nullable and without is not None:
            fact = (
                f"has column {name} in {first[name].relative_to(folder)}, where it is never null, "
                f"and not in {without.relative_to(folder)}"
            )
            raise LakeError(str(folder), fact, "Read it as a feed of files, which takes both")
    _ensure_names(folder, [*columns, *split.names])


def _columns(file: Path) -> pa.Schema:
    """A file's columns.

    Raises:
        LakeError: it is none, or has types that Delta has not.
    """
    try:
        with opened(str(file)) as parquet:
            physical = [parquet.schema.column(i) for i in range(len(parquet.schema))]
            schema = parquet.schema_arrow
    except (pa.ArrowException, OSError) as problem:
        fact = f"is no Parquet file that can be read ({first_line(problem)})"
        raise LakeError(str(file), fact, "Repair it, or move it away") from problem
    for column in physical:
        if column.physical_type == "INT96":
            step = "Write it anew with spark.sql.parquet.outputTimestampType=TIMESTAMP_MICROS"
            fact = f"has times of the former type INT96 in {column.path}, which say no zone"
            raise LakeError(str(file), fact, step)
    for field in schema:
        if unfit := _unfit(field.type):
            step = "Write it with another type, or read it as a feed of files"
            fact = f"has column {field.name} of type {unfit}, which Delta does not have"
            raise LakeError(str(file), fact, step)
        for names in _names_within(field.type):
            _ensure_names(file, names)
    return schema


def _unfit(kind: pa.DataType) -> str:
    """A type in another that Delta tables cannot have, in words; empty if there is none."""
    if pa.types.is_nested(kind):
        inner = (kind.field(i).type for i in range(kind.num_fields))
        return next((found for one in inner if (found := _unfit(one))), "")
    if pa.types.is_timestamp(kind):
        return "" if kind.unit in {"ms", "us"} and kind.tz in {None, "UTC"} else str(kind)
    fits = (
        pa.types.is_signed_integer(kind),
        pa.types.is_float32(kind) or pa.types.is_float64(kind),
        pa.types.is_boolean(kind) or pa.types.is_date32(kind),
        pa.types.is_string(kind) or pa.types.is_large_string(kind),
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
        pa.types.is_decimal128(kind),
    )
    return "" if any(fits) else str(kind)


def _names_within(kind: pa.DataType) -> Iterator[list[str]]:
    """Of each struct in a type, the names of its fields."""
    if pa.types.is_struct(kind):
        yield [kind.field(i).name for i in range(kind.num_fields)]
    if pa.types.is_nested(kind):
        for i in range(kind.num_fields):
            yield from _names_within(kind.field(i).type)


def _ensure_names(place: Path, names: Sequence[str]) -> None:
    for name in names:
        if set(name) & _NEVER_IN_A_NAME:
            fact = f"has a column {name!r}, and a Delta table cannot have such a name"
            step = "Read it as a feed of files, whose `select` renames"
            raise LakeError(str(place), fact, step)
    counted = Counter(name.lower() for name in names)
    twice = next((name for name, count in counted.items() if count > 1), None)
    if twice is not None:
        fact = f"has two columns called {twice}, but for the case"
        raise LakeError(str(place), fact, "Leave one of them out")
