from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorSet

from lake_assets.runtime.protoc import ROOT, compile_files
from lake_assets.simulator.games.schema import message_class, proto_text


def test_version_0_has_the_four_fields():
    assert [f.name for f in message_class(0).DESCRIPTOR.fields] == [
        "game_name",
        "gamer_id",
        "event_timestamp",
        "device_id",
    ]


def test_each_later_version_adds_a_numbered_column():
    fields = {f.name: f.number for f in message_class(3).DESCRIPTOR.fields[4:]}
    assert fields == {"col_custom_1": 6, "col_custom_2": 7, "col_custom_3": 8}


def test_the_class_is_that_of_the_text():
    compiled = FileDescriptorSet.FromString(compile_files("v", {ROOT: proto_text(2)}))
    (wanted,) = compiled.file[-1].message_type
    for field in wanted.field:
        field.ClearField("json_name")  # protoc fills it in; it follows from the name
    found = DescriptorProto()
    message_class(2).DESCRIPTOR.CopyToProto(found)
    assert found == wanted
