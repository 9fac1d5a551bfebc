"""Random schemas, evolutions and messages, compared with what google.protobuf reads."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings

from lake_assets.formats.confluent.schemas import SchemaSet
from lake_assets.formats.protobuf.decoding_plan import plan_decoding
from lake_assets_tests.formats.protobuf.given import NOTHING, framed, message_of, rows_of, schemas
from lake_assets_tests.formats.protobuf.random_messages import (
    DURATION,
    ENUM,
    TIMESTAMP,
    WRAPPERS,
    Case,
    Joined,
    a_case,
    a_joined,
    fill,
    is_map,
    text_of,
)


def expected(message: Message, names: Descriptor | None, kind: Any) -> dict[str, Any] | None:
    """A row of columns `kind`, of what google.protobuf says about a message.

    Names are those that the fields of the same numbers have in `names`.
    """
    row = dict.fromkeys((one.name for one in kind), None)
    for about in message.DESCRIPTOR.fields:
        twin = names.fields_by_number.get(about.number) if names is not None else None
        name = twin.name if twin is not None else about.name
        type_ = next(one.type for one in kind if one.name == name)
        within = twin.message_type if twin is not None else None
        if about.has_presence and not message.HasField(about.name):
            continue
        value = getattr(message, about.name)
        if is_map(about):
            item = about.message_type.fields_by_name["value"]
            within = within.fields_by_name["value"].message_type if within is not None else None
            found = {
                key: one_value(item, one, within, type_.item_type) for key, one in value.items()
            }
            row[name] = sorted(found.items(), key=repr)
        elif about.is_repeated:
            row[name] = [one_value(about, one, within, type_.value_type) for one in value]
        else:
            row[name] = one_value(about, value, within, type_)
    return row


def one_value(about: FieldDescriptor, value: Any, names: Descriptor | None, kind: Any) -> Any:
    if about.enum_type is not None:
        return ENUM.get(value, str(value))
    if about.message_type is None:
        return value
    full_name = about.message_type.full_name
    if full_name == TIMESTAMP:
        since = timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
        return datetime(1970, 1, 1, tzinfo=UTC) + since
    if full_name == DURATION:
        return value.seconds * 1_000_000
    if full_name in WRAPPERS:
        return value.value
    return expected(value, names, kind)


def comparable(value: Any) -> Any:
    """Maps in some order, and decimals as the numbers they are."""
    if isinstance(value, Decimal):
        return int(value)
    if isinstance(value, dict):
        return {key: comparable(one) for key, one in value.items()}
    if isinstance(value, list):
        found = [comparable(one) for one in value]
        return sorted(found, key=repr) if found and isinstance(found[0], tuple) else found
    if isinstance(value, tuple):
        return tuple(comparable(one) for one in value)
    return value


def compare(case: Case, known: SchemaSet, have: pa.Schema) -> None:
    old, new = text_of(case.old), text_of(case.new)
    messages = [fill(message_of(old), values) for values in case.old_values]
    messages += [fill(message_of(new), values) for values in case.new_values]
    ids = [1] * len(case.old_values) + [2] * len(case.new_values)
    rows = rows_of(known, *map(framed, ids, messages), have=have)
    met = plan_decoding(known.meet([(1, (0,)), (2, (0,))]), have).columns
    names = message_of(new).DESCRIPTOR
    wanted = [expected(message, names, met) for message in messages]
    assert comparable([dict.fromkeys(met.names) | dict(row) for row in rows]) == comparable(wanted)


PROFILE = settings(
    max_examples=50,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@PROFILE
@given(a_case())
def test_rows_of_all_versions_are_what_google_protobuf_reads(case: Case) -> None:
    known = schemas(text_of(case.old), text_of(case.new))
    compare(case, known, NOTHING)


@PROFILE
@given(a_case())
def test_so_they_are_where_the_tables_have_the_older_columns(case: Case) -> None:
    known = schemas(text_of(case.old), text_of(case.new))
    compare(case, known, plan_decoding(schemas(text_of(case.old)), NOTHING).columns)


@PROFILE
@given(a_joined())
def test_joined_messages_and_incomplete_entries_are_what_google_protobuf_reads(
    case: Joined,
) -> None:
    text = text_of(case.fields)
    known = schemas(text).meet([(1, (0,))])
    kind, columns = type(message_of(text)), plan_decoding(known, NOTHING).columns
    prefixes = [b"".join(case.parts[:end]) for end in range(len(case.parts) + 1)]
    wanted = [expected(kind.FromString(one), None, columns) for one in prefixes]
    header = framed(1, kind())
    rows = rows_of(known, *(header + one for one in prefixes))
    assert comparable([dict(row) for row in rows]) == comparable(wanted)
