"""When the vector reader answers; that it answers rightly is in `test_property`."""

import pyarrow as pa
import pytest

from lake_assets.formats.json.plain_reader import read_plain
from lake_assets.formats.json.vector_reader import read_values
from lake_assets_tests.formats.json.given import batch, decoder, read

LAST = "9999-12-31T23:59:59.999999"


@pytest.mark.parametrize("kind", ["double", "float", "date", "timestamp", "int", "string"])
@pytest.mark.parametrize("value", ['{"i":1}', '{"i":1,"v":null}'])
def test_a_column_without_values_is_read_the_fast_way(kind, value):
    fields = decoder(f"i int, v {kind}").rules.fields
    values = [value.encode()] * 20
    columns = read_values(pa.array(values, pa.binary()), fields, ignores_unknown=False)
    assert columns is not None
    assert columns["v"].null_count == 20
    assert read_plain(values, fields, rest="rescue").rows == list(range(20))


@pytest.mark.parametrize("kind", ["timestamp", "struct<at: timestamp>"])
@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00"])
def test_a_time_whose_zone_puts_it_outside_of_the_years_1_to_9999_is_rescued(kind, time):
    text = f'"{time}"' if kind == "timestamp" else f'{{"at":"{time}"}}'
    value = f'{{"v":{text}}}'
    beside = '{"i":1}'
    for rows in read(f"i int, v {kind}", value), read(f"i int, v {kind}", value, *[beside] * 40):
        assert rows[0]["_rescued"] == value
        assert rows[0].get("v") in (None, {"at": None})


def test_the_last_moment_that_there_is_can_be_stored():
    found = decoder("at timestamp").decode(batch(f'{{"at":"{LAST}Z"}}'.encode()))
    (row,) = found.columns.to_pylist()
    assert row["at"].isoformat() == f"{LAST}+00:00"
    assert row["_rescued"] is None
