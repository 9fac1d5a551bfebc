import pytest
from pydantic import ValidationError

from lake_assets.feeds.facts import unhidden_bodies
from lake_assets.formats.catalog import ids_in
from lake_assets.model.feeds import Feed
from lake_assets.model.payload import Payload

BODY = {"column": "body", "protobuf": {"subject": "body"}}
JSON = {"schema": "tenant string, body binary, id int, at timestamp"}
STRICT = {"on_mismatch": "quarantine", "on_unknown": "ignore"}


def declared(outer, **wrapped):
    return Payload.model_validate({**outer, "wrapped": {**BODY, **wrapped}})


def feed(payload, **more):
    source = {"kafka": {"topic": "t"}}
    return Feed.model_validate({"feed": "calls", "source": source, "payload": payload, **more})


def test_what_is_said_of_a_payload_is_said_of_both():
    both = declared({"json": JSON})
    assert both.needs_registry
    assert ids_in(both) is None
    assert [column.name for column in both.declared_columns] == ["tenant", "id", "at"]
    inner = Payload.model_validate(
        {
            "protobuf": {"subject": "s"},
            "wrapped": {"column": "body", "prefix": "in_", "json": {"schema": "n int"}},
        }
    )
    assert [column.name for column in inner.declared_columns] == ["in_n"]
    assert ids_in(inner) is not None
    assert not inner.promotes
    assert declared({"avro": {"subject": "s"}}).promotes
    assert Payload.model_validate_json(both.model_dump_json(by_alias=True)) == both


PROTOBUF = {"protobuf": {"subject": "s"}}
IN_JSON = {"protobuf": None, "json": {"schema": "n int"}}


@pytest.mark.parametrize(
    ("outer", "wrapped", "fact"),
    [
        (PROTOBUF, {"wrapped": BODY}, "wrapped.wrapped"),
        (PROTOBUF, {"column": ""}, "at least 1 character"),
        (PROTOBUF, {"prefix": "_"}, "'_' begins no name"),
        (PROTOBUF, {"prefix": "a b"}, "'a b' begins no name"),
        (PROTOBUF, {"protobuf": None}, "give exactly one of avro, csv, json, protobuf"),
        (PROTOBUF, {"avro": {"subject": "s"}}, "give exactly one of"),
        (PROTOBUF, {"schema_id": "body"}, "body has the body"),
        (PROTOBUF, {**IN_JSON, "schema_id": "id"}, "nobody knows its ids"),
        (PROTOBUF, {"protobuf": None, "csv": {"schema": "a int"}}, "csv neither wraps"),
        ({"csv": {"schema": "a int"}}, {}, "csv neither wraps"),
        (PROTOBUF, {"protobuf": None, "json": {"infer": True}}, "no `infer`"),
        ({"json": {"infer": True, "hints": "body binary"}}, {}, "no `infer`"),
        ({"json": {**JSON, "on_unknown": "add_columns"}}, {}, "no add_columns"),
        ({"json": JSON}, {"column": "b"}, "column: 'b' is no column of the envelope: tenant, body"),
        ({"json": JSON}, {"column": "tenant"}, "column: 'tenant' must be binary"),
        ({"json": JSON}, {"schema_id": "at"}, "schema_id: 'at' must be smallint or int or bigint"),
        ({"json": JSON}, {"schema_id": "nr"}, "schema_id: 'nr' is no column"),
        (
            {"json": {**JSON, **STRICT}},
            {"protobuf": None, "json": {"schema": "Tenant int", **STRICT}},
            "both have tenant\ngive a prefix",
        ),
        ({"json": JSON}, IN_JSON, "both have _rescued\ngive a prefix"),
    ],
)
def test_what_cannot_be_wrapped_is_refused(outer, wrapped, fact):
    with pytest.raises(ValidationError, match=fact):
        declared(outer, **wrapped)


def test_the_bytes_name_is_free_for_a_column_of_the_body():
    strict = {"schema": "body int", **STRICT}
    both = declared({"json": {**JSON, **STRICT}}, protobuf=None, json=strict)
    assert [column.name for column in both.declared_columns] == ["tenant", "id", "at", "body"]


def test_a_route_by_message_is_by_the_bodys():
    route = {"message": True, "keys": ["uno"]}
    json = {"json": JSON, "wrapped": BODY}
    assert feed(json, route=route, columns="own").has_own_columns
    with pytest.raises(ValidationError, match="wrapped messages of json have no message types"):
        feed({**PROTOBUF, "wrapped": {"column": "body", "json": {"schema": "n int"}}}, route=route)


def test_masks_do_not_pass_by_what_fits_no_column():
    body = {"column": "body", "prefix": "in_", "json": {"schema": "email string"}}
    mask = {"in_email": "redact"}
    ((where, fact),) = unhidden_bodies(feed({**PROTOBUF, "wrapped": body}, mask=mask))
    assert where == ("mask",)
    assert "in__rescued" in fact
    strict = {**body, "json": {"schema": "email string", **STRICT}}
    assert list(unhidden_bodies(feed({**PROTOBUF, "wrapped": strict}, mask=mask))) == []
    plain = {**body, "prefix": ""}
    assert (
        list(unhidden_bodies(feed({**PROTOBUF, "wrapped": plain}, mask={"email": "redact"}))) == []
    )
