"""Random histories of a field: nothing is lost, and a rebuild gives what the streams wrote."""

from typing import Any

import pyarrow as pa
from hypothesis import given, settings

from lake_assets.formats.avro.decoder import AvroDecoder
from lake_assets.formats.avro.decoding_plan import plan_decoding
from lake_assets.formats.confluent.schemas import FIRST
from lake_assets_tests.formats.avro.given import NOTHING, framed, subject
from lake_assets_tests.formats.avro.random_versions import History, Leaf, a_history, leaves_of
from lake_assets_tests.formats.avro.test_property import PROFILE
from lake_assets_tests.formats.framed_rows import bronze


def lived(history: History) -> tuple[list[list[Any]], pa.Schema]:
    """The rows as streams write them that meet each version when it comes, and the columns."""
    columns, rows = NOTHING, []
    for at in range(len(history.schemas)):
        known = subject(*history.schemas[: at + 1])
        known = known.meet((number, FIRST) for number in known.versions)
        plan = plan_decoding(known, columns)
        assert not plan.unusable
        columns = plan.columns
        rows.append(decoded(AvroDecoder(plan), history, at))
    return rows, columns


def decoded(decoder: AvroDecoder, history: History, at: int) -> list[Any]:
    found = decoder.decode(bronze(*(framed(at + 1, one.data) for one in history.values[at])))
    assert found.detail.to_pylist() == [None] * len(history.values[at])
    rows: list[Any] = found.columns.to_pylist()
    return rows


def rebuilt(history: History, have: pa.Schema) -> tuple[list[list[Any]], pa.Schema]:
    known = subject(*history.schemas)
    known = known.meet((number, FIRST) for number in known.versions)
    plan = plan_decoding(known, have)
    assert not plan.unusable
    rows = [decoded(AvroDecoder(plan), history, at) for at in range(len(history.schemas))]
    return rows, plan.columns


def widened(value: Any, kind: pa.DataType) -> Any:
    """A stored value after its column got a wider type and further fields."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {one.name: widened(value.get(one.name), one.type) for one in kind}
    if pa.types.is_list(kind):
        return [widened(one, kind.value_type) for one in value]
    if pa.types.is_map(kind):
        return [(key, widened(one, kind.item_type)) for key, one in value]
    if pa.types.is_binary(kind) and isinstance(value, str):
        return value.encode()
    return float(value) if pa.types.is_floating(kind) else value


def told(have: list[Any], want: tuple[Leaf, ...]) -> bool:
    """Whether each value is there once, in one of its ways."""
    left = list(have)
    for ways in sorted(want, key=len):
        found = next((at for at, one in enumerate(left) if (type(one), one) in ways), None)
        if found is None:
            return False
        del left[found]
    return not left


@settings(PROFILE, max_examples=400)
@given(a_history())
def test_all_values_are_there_once_and_it_does_not_matter_when_versions_were_known(
    history: History,
) -> None:
    stored, columns = lived(history)
    again, same = rebuilt(history, columns)
    fresh, new = rebuilt(history, NOTHING)
    assert same == columns
    row = pa.struct(list(columns))
    assert again == [[widened(one, row) for one in rows] for rows in stored]
    assert [sorted(columns.names), again] == [sorted(new.names), fresh]
    for rows, values in zip(again, history.values, strict=True):
        for one, value in zip(rows, values, strict=True):
            assert told(leaves_of(one), value.leaves), (one, value)
