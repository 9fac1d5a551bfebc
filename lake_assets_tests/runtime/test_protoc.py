import base64

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from lake_assets.errors import RegistryError, SchemaUnusableError
from lake_assets.runtime.protoc import ROOT, compile_files, root_beside

DEPENDENCY = 'syntax = "proto3"; package x; message D { string a = 1; }'
EVENT = 'syntax = "proto3"; import "x/d.proto"; package y; message event { x.D d = 1; }'


def _files(descriptor_set: bytes) -> list[str]:
    return [file.name for file in FileDescriptorSet.FromString(descriptor_set).file]


def test_imports_come_before_what_imports_them():
    found = compile_files("v", {ROOT: EVENT, "x/d.proto": DEPENDENCY})
    assert _files(found) == ["x/d.proto", ROOT]


def test_the_well_known_types_need_not_be_given():
    text = (
        'syntax = "proto3"; import "google/protobuf/timestamp.proto"; '
        "message event { google.protobuf.Timestamp t = 1; }"
    )
    assert _files(compile_files("v", {ROOT: text})) == ["google/protobuf/timestamp.proto", ROOT]


def test_serialized_descriptors_are_taken_as_they_are():
    whole = FileDescriptorSet.FromString(compile_files("v", {ROOT: EVENT, "x/d.proto": DEPENDENCY}))
    serialized = {
        file.name: base64.b64encode(file.SerializeToString()).decode() for file in whole.file
    }
    assert _files(compile_files("v", serialized)) == ["x/d.proto", ROOT]


def test_text_may_import_a_serialized_descriptor():
    (file,) = FileDescriptorSet.FromString(compile_files("v", {ROOT: DEPENDENCY})).file
    serialized = base64.b64encode(file.SerializeToString()).decode()
    found = compile_files("v", {ROOT: EVENT, "x/d.proto": serialized})
    assert _files(found) == ["x/d.proto", ROOT]


def test_an_import_may_have_the_name_that_the_compiled_file_would_have():
    imports = {ROOT: DEPENDENCY, f"_{ROOT}": 'syntax = "proto3"; package z; message D {}'}
    root, text = root_beside(imports), EVENT.replace("x/d.proto", ROOT)
    assert _files(compile_files("v", {**imports, root: text}, root)) == [ROOT, root]


def test_a_broken_schema_is_refused_with_protocs_complaint():
    with pytest.raises(RegistryError, match='"strin" is not defined'):
        compile_files("v", {ROOT: 'syntax = "proto3"; message event { strin a = 1; }'})


def test_the_compilers_own_log_and_folder_are_no_complaint():
    with pytest.raises(RegistryError, match=r"does not compile \(feed\.proto:1:1: Expected top"):
        compile_files("v", {ROOT: "this is no schema"})


def test_a_missing_import_is_refused():
    with pytest.raises(RegistryError, match=r"x/d\.proto"):
        compile_files("v", {ROOT: EVENT})


def test_an_import_path_cannot_leave_the_scratch_folder():
    with pytest.raises(RegistryError, match="no import path"):
        compile_files("v", {ROOT: EVENT, "../d.proto": DEPENDENCY})


@pytest.mark.parametrize(
    "files",
    [
        {ROOT: "// \ud800"},
        {"a\0b": DEPENDENCY},
        {"a\ud800": DEPENDENCY},
        {"a": DEPENDENCY, "a/b": DEPENDENCY},
        {"a/b": DEPENDENCY, "a": DEPENDENCY},
        {".": DEPENDENCY},
        {"x" * 300: DEPENDENCY},
    ],
)
def test_what_no_file_can_hold_is_refused_as_a_schema(files):
    with pytest.raises(SchemaUnusableError, match="whose name or text no file can have"):
        compile_files("v", {**files, ROOT: files.get(ROOT, EVENT)})


def test_a_ready_made_descriptor_whose_names_are_no_text_is_refused():
    raw = b'\n\x01x"\x0b\n\x05\x89vent\x12\x02\n\0'
    with pytest.raises(SchemaUnusableError, match="does not compile"):
        compile_files("it", {ROOT: base64.b64encode(raw).decode()})
