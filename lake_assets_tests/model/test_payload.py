import pytest
from pydantic import ValidationError

from lake_assets.errors import FeedError
from lake_assets.model.payload import OnMismatch, OnUnknown, Payload

JSON = Payload.model_validate({"json": {"schema": "a int"}})
PROTOBUF = Payload.model_validate({"protobuf": {"subject": "s"}})


def test_a_payload_is_of_one_format():
    assert (JSON.format, PROTOBUF.format) == ("json", "protobuf")
    assert [column.name for column in JSON.json_.columns] == ["a"]


@pytest.mark.parametrize(
    "declared", [{}, {"json": {"schema": "a int"}, "protobuf": {"subject": "s"}}]
)
def test_a_payload_of_none_or_two_formats_is_refused(declared):
    with pytest.raises(ValidationError, match="give exactly one of avro, json, protobuf"):
        Payload.model_validate(declared)


def test_what_does_not_fit_is_rescued_unless_the_feed_says_otherwise():
    assert JSON.json_.on_mismatch is OnMismatch.RESCUE
    assert JSON.json_.on_unknown is OnUnknown.RESCUE
    strict = {"schema": "a int", "on_mismatch": "quarantine", "on_unknown": "ignore"}
    assert JSON.json_.rescues
    assert not Payload.model_validate({"json": strict}).json_.rescues


def test_a_payload_comes_back_from_its_own_json():
    assert Payload.model_validate_json(JSON.model_dump_json()) == JSON


def test_only_registered_schemas_have_a_subject():
    assert PROTOBUF.subject == "s"
    assert Payload.model_validate({"avro": {"subject": "a"}}).subject == "a"
    with pytest.raises(FeedError, match="is json, which has no subject"):
        assert JSON.subject


@pytest.mark.parametrize("name", ["_offset", "_Topic", "_rescued"])
def test_columns_that_silver_adds_cannot_be_declared(name):
    with pytest.raises(ValidationError, match=f"{name} is a column that silver has already"):
        Payload.model_validate({"json": {"schema": f"{name} int"}})
