"""Which columns rows have before they are routed, by what keys' tables have and select."""

import pyarrow as pa

from lake_assets.silver.key_selections import (
    KeyGroup,
    KeySelection,
    brought_along,
    columns_had_before,
)
from lake_assets.silver.selection import Output

BPM = pa.field("bpm", pa.int64())
HAVE = pa.schema([BPM, ("beats", pa.float64()), ("steps", pa.int64()), ("twice", pa.int64())])


def of_all(*columns):
    group = KeyGroup(keys=(), items=("*",), masks={})
    return KeySelection.of_all(group, pa.schema(columns))


def of_copy(name, source, *, has_star=False):
    output = Output(name=name, kind=pa.int64(), source=source, reads=(source,))
    return KeySelection(
        keys=("pulse",), masks={}, is_stored=True, has_star=has_star, outputs={name: output}
    )


def test_what_only_a_select_made_is_no_column_that_values_brought():
    found = [of_all(BPM)]
    assert columns_had_before(HAVE, found, {"steps", "beats"}).names == ["bpm", "beats", "steps"]
    assert columns_had_before(HAVE, found, ()).names == ["bpm"]


def test_what_values_brought_is_known_only_where_somebody_selects_all():
    assert columns_had_before(HAVE, [of_copy("beats", "bpm")], HAVE.names).names == ["bpm"]
    some = columns_had_before(HAVE, [of_copy("beats", "bpm", has_star=True)], ())
    assert some == pa.schema([("bpm", pa.float64())])  # as wide as the copy is


def test_what_a_select_made_alone_was_not_brought_along_unless_by_a_name_of_another_case():
    assert brought_along(HAVE, {"twice"}, pa.schema([BPM])) == {"bpm", "beats", "steps"}
    other = pa.schema([BPM, ("TWICE", pa.string())])
    assert brought_along(HAVE, {"twice", "beats"}, other) == {"bpm", "steps", "twice"}
    found = [of_all(*other)]
    assert columns_had_before(HAVE, found, {"twice"}).names == ["bpm", "twice"]


def test_what_is_selected_by_its_own_name_is_known_though_a_select_alone_made_it():
    found = [of_all(BPM, pa.field("twice", pa.string()))]
    assert columns_had_before(HAVE, found, ()).field("twice").type == pa.int64()
