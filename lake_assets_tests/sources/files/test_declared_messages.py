"""Files of messages whose schema the feed declares, and what each file keeps of it."""

import re

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from lake_assets.errors import SourceError
from lake_assets.formats.confluent.framing import Header, parse, schema_ids
from lake_assets.formats.protobuf.brought_messages import brought_version
from lake_assets.formats.protobuf.messages import messages_of
from lake_assets.model.payload import Payload
from lake_assets.model.protobuf_payload import ProtobufPayload
from lake_assets.runtime.protoc import compile_files
from lake_assets.sources.files.declared_messages import declared_message
from lake_assets.sources.files.index import entries_from
from lake_assets.sources.files.written_schemas import written_schemas
from lake_assets_tests.sources.files.folders import Folder, read, told
from lake_assets_tests.sources.files.test_delimited import written

BEAT = 'syntax = "proto3"; package play; message Beat { string model = 1; int32 bpm = 2; }'
OTHERS = """syntax = "proto3"; package play;
import "parts/when.proto";
import "google/protobuf/timestamp.proto";
message A { google.protobuf.Timestamp at = 1; }
message B { message Inner { When when = 1; } }
"""
WHEN = 'syntax = "proto3"; package play; message When { int64 at = 1; }'


def declare(folder, text=BEAT, message="play.Beat"):
    folder.root.mkdir(exist_ok=True)
    (folder.root / "beat.proto").write_text(text)
    return {"file": str(folder.root / "beat.proto"), "message": message}


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def made(declared):
    return declared_message(ProtobufPayload(**declared))


def test_a_message_is_found_wherever_it_stands_with_what_its_file_imports(folder):
    (folder.root / "parts").mkdir()
    (folder.root / "parts" / "when.proto").write_text(WHEN)
    found = made(declare(folder, OTHERS, "play.B.Inner"))
    version = brought_version(1, found.schema)
    header = parse(found.framing[5:])
    assert isinstance(header, Header)
    assert messages_of(version.descriptor_set)[header.path] == "play.B.Inner"
    first = made(declare(folder, OTHERS, "play.A"))
    assert first.framing[5:] == b"\0"
    assert first.schema != found.schema
    imported = made(declare(folder, OTHERS, "play.When"))
    assert [*messages_of(brought_version(1, imported.schema).descriptor_set).values()] == [
        "play.When"
    ]


def test_a_descriptor_set_is_as_good_as_its_text(folder):
    declared = declare(folder)
    texts = {"beat.proto": BEAT}
    (folder.root / "beat.pb").write_bytes(compile_files("t", texts, "beat.proto"))
    assert made(declared) == made({**declared, "file": str(folder.root / "beat.pb")})


@pytest.mark.parametrize(
    ("name", "content", "fact"),
    [
        ("gone.proto", None, "cannot be read (No such file or directory)"),
        ("beat.proto", b"message Beat {", "does not compile"),
        ("beat.proto", b'import "gone.proto";', "gone.proto"),
        (
            "beat.proto",
            BEAT.replace("Beat", "Other").encode(),
            "has no message play.Beat, but play.Other",
        ),
        ("beat.proto", b"\xff\xfe", "does not compile"),
        ("beat.pb", b"", "is neither a .proto file nor the output of protoc"),
        ("beat.pb", b"no descriptors", "is neither a .proto file nor the output of protoc"),
        (
            "beat.pb",
            FileDescriptorSet(file=[FileDescriptorProto(name="a")]).SerializeToString(),
            "but none",
        ),
    ],
)
def test_what_is_no_schema_is_told_before_a_file_is_found(folder, name, content, fact):
    if content is not None:
        (folder.root / name).write_bytes(content)
    declared = {"file": str(folder.root / name), "message": "play.Beat"}
    feed = folder.feed(Payload.model_validate({"protobuf": declared}), format="protobuf")
    with pytest.raises(SourceError, match=re.escape(fact)) as problem:
        read(folder.reader(feed))
    assert problem.value.thing == f"schema {folder.root / name}"
    assert entries_from(folder.lake, "beats", 0, 9) == []


def test_each_file_keeps_the_schema_that_there_was_when_it_was_found(folder):
    declared = declare(folder)
    feed = folder.feed(Payload.model_validate({"protobuf": declared}), format="protobuf")
    for name, messages in (("a", (b"\x10\x05", b"")), ("b", (b"\x10\x06",))):
        (folder.path / name).write_bytes(written(*messages))
    (folder.path / "torn").write_bytes(written(b"\x10\x07") + b"\x7fcut")
    first = made(declared)
    rows = read(folder.reader(feed))
    assert told(rows, "_file", "_row", "_position", "value") == [
        ("a", 1, 1, first.framing + b"\x10\x05"),
        ("a", 2, 4, first.framing),
        ("b", 1, 1, first.framing + b"\x10\x06"),
        ("torn", 1, 1, first.framing + b"\x10\x07"),
        ("torn", 2, None, None),
    ]
    second = made(declare(folder, BEAT.replace("}", "string at = 3; }")))
    (folder.path / "c").write_bytes(written(b""))
    again = read(folder.reader(feed))  # all of them, by what they were found with
    assert again["value"].to_pylist() == [*rows["value"].to_pylist(), second.framing]
    ids = schema_ids(again["value"].combine_chunks()).to_pylist()
    known = written_schemas(folder.lake, "beats")
    assert known == [(ids[0], first.schema), (ids[-1], second.schema)]
    assert [brought_version(n, text).problem for n, (_, text) in enumerate(known)] == ["", ""]
    (folder.root / "beat.proto").unlink()  # what was found is read all the same
    with pytest.raises(SourceError, match="cannot be read"):
        read(folder.reader(feed))
