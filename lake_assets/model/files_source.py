"""Files of a folder or a bucket as a source, as a feed declares them; where is `file_places`'."""

import codecs
import re
from datetime import timedelta
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from lake_assets.model.checks import duration
from lake_assets.model.file_places import PlacePath, is_bucket, refuse_archive, refuse_options
from lake_assets.model.one_source import OneSource
from lake_assets.model.origins import OriginColumns
from lake_assets.model.rest import Secret
from lake_assets.model.unique_names import both

LISTING = "files"
"""The one source that all files of a feed are: its name, in each row's origin."""

FileFormat: TypeAlias = Literal["jsonl", "json", "csv", "avro", "parquet", "protobuf", "framed"]
_BINARY = {"avro", "parquet", "protobuf", "framed"}

_SETTLE_S = 10.0
"""Seconds that a file of a folder must have stood, unless a feed says otherwise."""

Compression: TypeAlias = Literal["auto", "none", "gzip", "zstd", "bz2"]


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
        message = f"{value!r} is no pattern below the folder\nwrite `*.jsonl` or `**/*.jsonl`"
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


class FilesSource(OneSource):
    """The files of a folder or of a bucket, each of which is read once."""

    kind: ClassVar[str] = "files"
    system: ClassVar[str] = "folder"
    origin: ClassVar[OriginColumns] = OriginColumns(
        name="listing",
        partition=None,
        offset="ordinal",
        time="modified_at",
        further=("_file", "_row", "_position"),
    )

    path: PlacePath
    """The folder, absolute, on a local or mounted disk; or a bucket and a prefix in it:
    `s3://bucket/prefix`, `gs://…`, `az://…`."""

    pattern: Annotated[str, AfterValidator(_pattern)] = "*"
    """Which names below it are read: `*.jsonl`; `*` and `?` stop at `/`, `**/` goes through any
    folders. Names that begin with `.` or `_`, or end with `.tmp`, never are."""

    format: FileFormat
    """How a file is cut into rows: `jsonl`, a JSON object a line; `json`, an array of objects, or
    objects one after the other; `csv`, a record of CSV, which may have lines between quotes;
    `avro`, a record of an object container file, which has its schema with it; `parquet`, a row,
    which is a JSON object then; `protobuf`, a message after its length, a varint; `framed`, a value
    of a registered schema, which it begins with the id of, after its length. The `payload` says
    what is in a row."""

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

    settle: Settled | None = None
    """How long a file's size and time must have stood before it is read, so that none is read half
    written. Unset, `10s` in a folder, and `0s` in a bucket, where files appear whole. `0s` where
    whoever writes renames whole files into the folder."""

    archive: PlacePath | None = None
    """Folder that files are moved to once bronze has all of their rows; of a bucket, a prefix in
    the same one. Not in `path`; where folders are gone through, nor one that `path` is in."""

    delete: bool = False
    """Whether files are deleted once bronze has all of their rows. What bronze then loses is lost.
    """

    options: dict[str, str] = Field(default_factory=dict)
    """Of the bucket, as deltalake takes them (`aws_region`, `aws_endpoint`, `aws_allow_http`, …).
    Without credentials among them and `secrets` the cloud's own are looked for: variables, the role
    of the machine or container."""

    secrets: dict[str, Secret] = Field(default_factory=dict)
    """Those that are secret, by environment variables: `{aws_secret_access_key: {env: …}}`."""

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
            message = f"{both(['archive', 'delete'])}\ngive `archive` or `delete`"
            raise ValueError(message)
        if self.archive:
            refuse_archive(self.path, self.archive, is_deep=self.is_deep)
        refuse_options(self.options, self.secrets, is_bucket=self.is_bucket)
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
    def is_bucket(self) -> bool:
        """Whether the files are in a bucket."""
        return is_bucket(self.path)

    @property
    def settles_for_s(self) -> float:
        """`settle`, or what holds where it is unset, in seconds."""
        if self.settle is None:
            return 0.0 if self.is_bucket else _SETTLE_S
        return self.settle.total_seconds()

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
