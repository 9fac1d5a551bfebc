from lake_assets.formats.protobuf.decoders import handler_of
from lake_assets_tests.formats.protobuf.given import descriptor_set_of

TWO = descriptor_set_of("package p; message event { bool a = 1; } message other { bool b = 1; }")


def test_a_handler_is_made_once_a_message():
    assert handler_of("p.event", TWO) is handler_of("p.event", TWO)


def test_a_oneof_may_be_called_like_a_field_in_json():
    body = "message event { oneof userId { int32 a = 1; bool user_id = 2; } }"
    assert handler_of("event", descriptor_set_of(body)).schema().names == ["a", "user_id"]


def test_the_handler_is_of_the_named_message():
    assert handler_of("p.event", TWO).schema().names == ["a"]
    assert handler_of("p.other", TWO).schema().names == ["b"]
