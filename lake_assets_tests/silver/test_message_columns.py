"""Which columns each message type has, by decoders as formats plan them."""

import pyarrow as pa
import pytest

from lake_assets.formats.avro.decoding_plan import plan_decoding as plan_avro
from lake_assets.formats.base import Surroundings
from lake_assets.formats.catalog import format_of
from lake_assets.formats.protobuf.decoding_plan import plan_decoding
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.feeds import Feed
from lake_assets.silver.own_columns import message_columns
from lake_assets_tests.formats.avro.given import record, subject
from lake_assets_tests.formats.protobuf.given import NOTHING, schemas

FIRST = "message Uno { string player = 1; int32 color = 2; } message Chess { string player = 1; }"
SECOND = (
    "message Uno { string player = 1; int32 color = 2; } "
    "message Chess { string player = 1; string opening = 2; }"
)
UNO, CHESS = (0,), (1,)


@pytest.mark.parametrize(
    ("met", "have", "expected"),
    [
        # Uno is alike in both, and all that the first Chess has is there by then.
        ({(1, UNO)}, NOTHING, {"Uno": {"player", "color"}, "Chess": {"player"}}),
        ({(1, CHESS)}, NOTHING, {"Chess": {"player"}}),
        (
            {(2, CHESS), (1, UNO)},
            NOTHING,
            {"Uno": {"player", "color"}, "Chess": {"player", "opening"}},
        ),
        # After a restart the tables alone tell what rows had.
        (
            set(),
            pa.schema([(name, pa.string()) for name in ("player", "opening")]),
            {"Chess": {"player", "opening"}},
        ),
    ],
)
def test_a_message_has_the_columns_of_its_versions_that_are_ready(met, have, expected):
    found = plan_decoding(schemas(FIRST, SECOND, met=frozenset(met)), have)
    assert found.message_columns == expected
    assert set().union(*found.message_columns.values()) <= {*found.columns.names}


def test_what_is_filled_in_of_a_record_is_its_column():
    old, new = record(("id", "int")), record(("id", "int"), ("n", "int", 7))
    found = plan_avro(subject(old, new), pa.schema([]))
    ((name, columns),) = found.message_columns.items()
    assert (name, columns) == (next(iter(found.readers.values())).name, {"id", "n"})


def test_a_decoder_that_knows_no_messages_is_not_taken_for_one_without_columns():
    declared = {
        "feed": "events",
        "source": {"kafka": {"topic": "t"}},
        "payload": {"json": {"schema": "a string"}},
    }
    around = Surroundings(registry="", registry_access=RegistryAccess())
    found = format_of(Feed.model_validate(declared), around)
    decoder = found.plan(found.newest(), NOTHING, ())
    with pytest.raises(TypeError, match="JsonDecoder does not tell"):
        message_columns(decoder)
