"""Schema text to descriptors, with the protoc that `grpcio-tools` brings."""

import base64
import binascii
import errno
import re
import subprocess
import sys
from collections.abc import Collection, Mapping
from importlib import resources
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from lake_assets.errors import RegistryError, SchemaUnusableError

ROOT = "feed.proto"
"""Name of the file to compile, where it imports none of that name; the registry keeps no name."""

_TIMEOUT_S = 60.0
"""A protoc run takes 0.05 s; a minute means that it hangs, not that the machine is busy."""

_NO_FILE = frozenset({errno.EEXIST, errno.EISDIR, errno.ENAMETOOLONG, errno.ENOTDIR})
"""Errors of names that are none, or that another file's folder has."""

_SHOWN = 80
"""Characters of such a name that an error shows."""

_NEXT_STEP = "Register a corrected version"

_LOGGED = re.compile(r"WARNING: All log messages|[IW]\d{4} ")
"""Lines that protoc writes of itself and not of the schema."""


def root_beside(imports: Collection[str]) -> str:
    """A name for the file to compile that none of its imports has."""
    root = ROOT
    while root in imports:
        root = f"_{root}"
    return root


def compile_files(thing: str, files: Mapping[str, str], root: str = ROOT) -> bytes:
    """Compile a file and what it imports.

    Args:
        thing: whose schema this is, for the error.
        files: import path to content, `root` among them; the well-known types need not be. Content
            is the text of a .proto file, or a serialized `FileDescriptorProto` in base64, as
            Confluent's Python serializer registers it.
        root: name of the file to compile.

    Returns:
        A serialized `FileDescriptorSet`, imports before what imports them, `root` last.

    Raises:
        SchemaUnusableError: the schema is not valid; the message has protoc's complaint.
        RegistryError: protoc does not come to an end, which says nothing about the schema.
    """
    with TemporaryDirectory(prefix="lake_assets_proto_") as scratch:
        folder, ready = Path(scratch), FileDescriptorSet()
        for name, content in files.items():
            descriptor = _ready_made(content)
            if descriptor is None:
                _write(thing, folder / "source", name, content)
            else:
                descriptor.name = name
                ready.file.append(descriptor)
        return _run(thing, folder, ready, root)


def _ready_made(content: str) -> FileDescriptorProto | None:
    try:
        # No .proto text is base64: it has spaces or semicolons.
        return FileDescriptorProto.FromString(base64.b64decode(content, validate=True))
    except (binascii.Error, ValueError, DecodeError):
        return None


def _write(thing: str, folder: Path, name: str, content: str) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise SchemaUnusableError(thing, f"refers to {name!r}, which is no import path", _NEXT_STEP)
    target = folder / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
    except (OSError, ValueError) as problem:
        if isinstance(problem, OSError) and problem.errno not in _NO_FILE:
            raise  # such as a full disk: it says nothing about the schema
        fact = f"has {name[:_SHOWN]!r}, whose name or text no file can have"
        raise SchemaUnusableError(thing, fact, _NEXT_STEP) from problem


def _run(thing: str, folder: Path, ready: FileDescriptorSet, root: str) -> bytes:
    source, output, given = folder / "source", folder / "out.bin", folder / "ready.bin"
    source.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "grpc_tools.protoc", "--include_imports"]
    command += [f"-I{source}", f"-I{resources.files('grpc_tools') / '_proto'}"]
    if ready.file:
        given.write_bytes(ready.SerializeToString())
        command.append(f"--descriptor_set_in={given}")
    command += [f"--descriptor_set_out={output}", root]
    # A process of its own: protoc writes its complaint to file descriptor 2, past sys.stderr.
    try:
        run = subprocess.run(  # noqa: S603 - no shell, and every argument is ours
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",  # names of ready-made descriptors may be any bytes
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as problem:
        fact = f"took protoc more than {_TIMEOUT_S:.0f} s"
        raise RegistryError(thing, fact, "Look what keeps the machine busy") from problem
    if run.returncode:
        told = run.stderr.replace(f"{source}/", "").splitlines()
        lines = [line for line in told if line.strip()]
        # Beside its complaint, the compiler logs.
        complaint = "; ".join([line for line in lines if not _LOGGED.match(line)] or lines)
        raise SchemaUnusableError(thing, f"does not compile ({complaint})", _NEXT_STEP)
    return output.read_bytes()
