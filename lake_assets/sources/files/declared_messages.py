"""The schema that a feed declares of its files' messages, compiled when files are found.

A file keeps the schema that there was then: the index has it, and each row begins with its id.
"""

import base64
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from lake_assets.errors import RegistryError, SchemaUnusableError, SourceError
from lake_assets.model.feeds import Feed
from lake_assets.model.protobuf_payload import ProtobufPayload
from lake_assets.runtime.protoc import compile_files
from lake_assets.runtime.varints import zigzag
from lake_assets.sources.files.measuring import Cut

_IMPORT = re.compile(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"]+)"', re.MULTILINE)

_MOST_BYTES = 16 * 1024 * 1024
"""Of a schema: it is in the index, and in the plan of each task."""

_SHOWN = 200
"""Characters of names that an error shows."""

_STEP = "Correct payload.protobuf, or the schema's file"


@dataclass(frozen=True, slots=True)
class DeclaredMessage:
    """A message as it is declared now."""

    schema: str
    """JSON: `message`, its full name, and `descriptors`, a `FileDescriptorSet` in Base64 whose last
    file defines it."""

    framing: bytes
    """What each message begins with in bronze, as one of a topic does: the byte 0, four bytes of
    `message_id`, where the message stands in its file."""


def message_id(schema: str) -> int:
    """A number of 31 bits for a schema: `schema_id` of its rows."""
    return zlib.crc32(schema.encode()) & 0x7FFF_FFFF


def cut_of_new(feed: Feed) -> Cut:
    """How files are cut that are found now; raises as `declared_message`."""
    cut, declared = Cut.of(feed), feed.payload.protobuf
    message = None if declared is None else declared_message(declared)
    return cut if message is None else replace(cut, framing=message.framing, schema=message.schema)


def declared_message(declared: ProtobufPayload) -> DeclaredMessage | None:
    """What a payload declares; None if its schemas are registered.

    Raises:
        SourceError: the file is not there or no schema, or has no such message.
    """
    if declared.file is None or declared.message is None:
        return None
    file, thing = Path(declared.file), f"schema {declared.file}"
    try:
        compiled = _compiled(thing, file)
    except OSError as problem:
        fact = f"cannot be read ({problem.strerror or problem})"
        raise SourceError(thing, fact, _STEP) from problem
    except (SchemaUnusableError, RegistryError) as problem:
        raise SourceError(thing, problem.fact, _STEP) from problem
    files = {one.name: one for one in compiled.file}
    known: list[str] = []
    for root in compiled.file:
        paths = dict(_paths(root.message_type, root.package))
        if declared.message in paths:
            own = FileDescriptorSet(file=_with_imports(root, files, set()))
            return _made(declared.message, own, paths[declared.message])
        known += paths
    names = ", ".join(known)[:_SHOWN] or "none"
    raise SourceError(thing, f"has no message {declared.message}, but {names}", _STEP)


def _made(message: str, own: FileDescriptorSet, path: tuple[int, ...]) -> DeclaredMessage:
    text = base64.b64encode(own.SerializeToString(deterministic=True)).decode()
    schema = json.dumps({"descriptors": text, "message": message}, sort_keys=True)
    where = b"\0" if path == (0,) else b"".join(map(zigzag, (len(path), *path)))
    return DeclaredMessage(schema, b"\0" + message_id(schema).to_bytes(4, "big") + where)


def _compiled(thing: str, file: Path) -> FileDescriptorSet:
    """The descriptors of a file, as a set of them or as text.

    Raises:
        OSError: it cannot be read.
        SchemaUnusableError: it is no schema.
        RegistryError: protoc hangs.
    """
    if file.suffix == ".proto":
        texts = _texts(file)
        return FileDescriptorSet.FromString(compile_files(thing, texts, file.name))
    content = file.read_bytes()
    try:
        found = FileDescriptorSet.FromString(content[: _MOST_BYTES + 1])
    except DecodeError:
        found = FileDescriptorSet()
    if len(content) > _MOST_BYTES or not any(one.name for one in found.file):
        fact = "is neither a .proto file nor the output of protoc --descriptor_set_out"
        raise SchemaUnusableError(thing, fact, _STEP)
    return found


def _texts(file: Path) -> Mapping[str, str]:
    """A file of text, and those beside it that it imports, by their names there."""
    texts: dict[str, str] = {}
    names = [file.name]
    while names:
        name = names.pop()
        place = file.parent / name
        if name in texts or (name != file.name and not place.is_file()):
            continue  # protoc brings the well-known ones, and names what is missing
        texts[name] = place.read_text(encoding="utf-8", errors="replace")
        names += _IMPORT.findall(texts[name])
    return texts


def _with_imports(
    file: FileDescriptorProto, files: Mapping[str, FileDescriptorProto], seen: set[str]
) -> Iterator[FileDescriptorProto]:
    """A file behind what it imports, each once."""
    seen.add(file.name)
    for name in file.dependency:
        if name in files and name not in seen:
            yield from _with_imports(files[name], files, seen)
    yield file


def _paths(
    messages: Iterable[DescriptorProto], above: str, path: tuple[int, ...] = ()
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Full names of messages, and where each stands."""
    for at, one in enumerate(messages):
        name = f"{above}.{one.name}" if above else one.name
        yield name, (*path, at)
        yield from _paths(one.nested_type, name, (*path, at))
