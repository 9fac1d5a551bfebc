"""Files of a folder as a source, as a feed declares them."""

import codecs
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from lake_assets.model.checks import duration
from lake_assets.model.one_source import OneSource
from lake_assets.model.origins import OriginColumns

LISTING = "files"
"""The one source that all files of a feed are: its name, in each row's origin."""

FileFormat: TypeAlias = Literal["jsonl", "json", "csv", "avro", "parquet", "protobuf"]
_BINARY = {"avro", "parquet", "protobuf"}

Compression: TypeAlias = Literal["auto", "none", "gzip", "zstd", "bz2"]


def _folder(value: str) -> str:
    if not Path(value).is_absolute():
        message = f"{value!r} is no absolute path of a folder; buckets are not read yet"
        raise ValueError(message)
    if ".." in Path(value).parts:
        message = f"{value!r} has `..` in it: write where the folder is"
        raise ValueError(message)
    return str(Path("/", value.lstrip("/")))  # two slashes at the begin would be another path


def _encoding(value: str) -> str:
    try:
        name = codecs.lookup(value).name
    except LookupError:
        message = f"{value!r} is no encoding that Python knows, such as utf-8, utf-16, latin-1"
        raise ValueError(message) from None
    if not getattr(codecs.lookup(name), "_is_text_encoding", True):
        message = f"{value!r} is no encoding of text"
        raise ValueError(message)
    return name


def _pattern(value: str) -> str:
    if not value or value.startswith("/") or any(p in {"", ".", ".."} for p in value.split("/")):
        message = f"{value!r} is no pattern below the folder: write `*.jsonl` or `**/*.jsonl`"
        raise ValueError(message)
    if any(mark in value for mark in "[]{}"):
        message = f"{value!r}: only `*`, `?` and `**/` stand for others; `?` is any one character"
        raise ValueError(message)
    if value.endswith(".tmp") or any(part[0] in "._" for part in value.split("/")):
        message = f"{value!r}: names that begin with `.` or `_`, or end with `.tmp`, are never read"
        raise ValueError(message)
    return value


def _settled(value: object) -> timedelta:
    return timedelta(0) if value in ("0s", timedelta(0)) else duration(value)


Settled = Annotated[
    timedelta,
    BeforeValidator(_settled),
    PlainSerializer(lambda found: f"{found.total_seconds():g}s", return_type=str),
    Field(le=timedelta(days=1)),
]


FolderPath = Annotated[str, AfterValidator(_folder)]


class FilesSource(OneSource):
    """The files of a folder, each of which is read once."""

    kind: ClassVar[str] = "files"
    system: ClassVar[str] = "folder"
    origin: ClassVar[OriginColumns] = OriginColumns(
        name="listing",
        partition=None,
        offset="ordinal",
        time="modified_at",
        further=("_file", "_row", "_position"),
    )

    path: FolderPath
    """The folder, absolute, on a local or mounted disk."""

    pattern: Annotated[str, AfterValidator(_pattern)] = "*"
    """Which names below it are read: `*.jsonl`; `*` and `?` stop at `/`, `**/` goes through any
    folders. Names that begin with `.` or `_`, or end with `.tmp`, never are."""

    format: FileFormat
    """How a file is cut into rows: `jsonl`, a JSON object a line; `json`, an array of objects, or
    objects one after the other; `csv`, a record of CSV, which may have lines between quotes;
    `avro`, a record of an object container file, which has its schema with it; `parquet`, a row,
    which is a JSON object then; `protobuf`, a message after its length, a varint. The `payload`
    says what is in a row."""

    discovery: Literal["list", "ordered"] = "list"
    """`list`: each look lists the folder and finds whatever is new, and what has changed since it
    was read, which is reported and not read again. `ordered`: names only grow, and a look is for
    names after the greatest that was found; a late one is never read, and no change is seen."""

    header: bool = False
    """Of `csv`: that each file begins with a line of names. They must be the payload's columns, in
    its order; a file with another line is refused as a whole."""

    encoding: Annotated[str, AfterValidator(_encoding)] = "utf-8"
    """Of the text. Bronze keeps each row in UTF-8."""

    compression: Compression = "auto"
    """`auto`: by the ending of the name, `.gz`, `.zst` or `.bz2`. How blocks within a file of Avro
    and pages of Parquet are compressed, the file says."""

    settle: Settled = timedelta(seconds=10)
    """How long a file's size and time must have stood before it is read, so that none is read half
    written. `0s` where whoever writes renames whole files into the folder."""

    archive: FolderPath | None = None
    """Folder that files are moved to once bronze has all of their rows. Not in `path`."""

    delete: bool = False
    """Whether files are deleted once bronze has all of their rows. What bronze then loses is lost.
    """

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.header and self.format != "csv":
            message = f"header: files of {self.format} have none"
            raise ValueError(message)
        if self.encoding != "utf-8" and self.format in _BINARY:
            message = f"encoding: files of {self.format} are no text"
            raise ValueError(message)
        if self.format == "parquet" and self.compression not in {"auto", "none"}:
            message = (
                "compression: a file of Parquet is read from its end, so that only its pages are"
            )
            raise ValueError(message)
        if self.archive and self.delete:
            message = "give `archive` or `delete`"
            raise ValueError(message)
        if self.archive and Path(self.archive).is_relative_to(self.path):
            message = "archive: files would be found there again; name a folder that is not in path"
            raise ValueError(message)
        return self

    @property
    def on_gap(self) -> Literal["stop"]:
        """Never asked: a file that is gone has a row that says so."""
        return "stop"

    @property
    def name(self) -> str:
        """All files are one source."""
        return LISTING

    @property
    def label(self) -> str:
        """The folder and the pattern."""
        return f"{self.path.rstrip('/')}/{self.pattern}"

    @property
    def title(self) -> str:
        """Which files."""
        return f"files {self.label!r}"

    @property
    def is_deep(self) -> bool:
        """Whether folders in the folder are looked into."""
        return "/" in self.pattern

    @property
    def is_cleaned(self) -> bool:
        """Whether files leave once bronze has them."""
        return self.delete or self.archive is not None

    def matches(self, name: str) -> bool:
        """Whether a file is read, by its name below the folder, with `/` between folders."""
        hidden = any(part[:1] in {".", "_"} for part in name.split("/"))
        return not hidden and not name.endswith(".tmp") and bool(self._names.fullmatch(name))

    @property
    def _names(self) -> re.Pattern[str]:
        return _compiled(self.pattern)


def _compiled(pattern: str) -> re.Pattern[str]:
    *folders, last = pattern.split("/")
    parts = [_ANY_FOLDERS if one == "**" else f"{_segment(one)}/" for one in folders]
    return re.compile("".join([*parts, _segment(last)]), re.DOTALL)


_ANY_FOLDERS = "(?:[^/]+/)*"


def _segment(pattern: str) -> str:
    """What is between two `/`, as a regular expression that takes no longer for more stars."""
    first, *others = (re.escape(part).replace(r"\?", "[^/]") for part in re.split(r"\*+", pattern))
    if not others:
        return first
    # The first place where a part fits is as good as any, but for the last one.
    between = "".join(f"(?>[^/]*?{part})" for part in others[:-1])
    return f"{first}{between}[^/]*{others[-1]}"
