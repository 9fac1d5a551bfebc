from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lake_assets.formats.confluent.schemas import SchemaSet, Version
from lake_assets.formats.protobuf.arrow import ProtobufDecoder
from lake_assets.formats.protobuf.decoding_plan import plan_decoding
from lake_assets.formats.questions import SchemaIdQuestion
from lake_assets.model.quarantine import Reason
from lake_assets.model.routes import Route, Unknown
from lake_assets.parquet.writer import TABLE, UNRESOLVED
from lake_assets.silver.demux_task import DecodePlan, decode_task, stage_schema
from lake_assets.silver.questions import KeyQuestion, encoded
from lake_assets.silver.route_values import RouteValue
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.events import AT, framed
from lake_assets_tests.formats.protobuf.given import descriptor_set_of, message_of
from lake_assets_tests.formats.protobuf.given import framed as frame
from lake_assets_tests.silver.given import FOREIGN, KNOWN, NEW, UNKNOWN, bronze_batch, decoding_of

NOW = datetime(2026, 11, 21, tzinfo=UTC)

GAMES = ("uno", "go_fish")
QUARANTINE = len(GAMES)

REFUSED = [
    (None, Reason.EMPTY_VALUE),
    (b"", Reason.EMPTY_VALUE),
    (b"{}", Reason.NOT_FRAMED),
    (b"\0\0", Reason.NOT_FRAMED),
    (framed(UNKNOWN), Reason.UNKNOWN_SCHEMA),
    (framed(FOREIGN), Reason.FOREIGN_SCHEMA),
    (framed(KNOWN)[:12], Reason.UNDECODABLE),
    (framed(KNOWN, "chess"), Reason.UNKNOWN_KEY),
    (framed(KNOWN, "../x"), Reason.BAD_KEY_NAME),
]

UNFIT_NAMES = [
    "../x",
    "uno/../../x",
    "uno\n",
    "\nuno",
    "a\nb",
    "x" * 65,
    "Uno",
    "",
    " uno",
    "un o",
    "ünö",
    "uno.",
    "uno\0",
]


def by(column, unknown=Unknown.QUARANTINE):
    if column is None:
        return ()
    return (RouteValue(route=Route(column=column, keys=GAMES, unknown=unknown), topic="topic"),)


def place(*values, create_unknown=False, version=0, route="game_name", refused=None, keys=GAMES):
    plan = DecodePlan(
        decoder=ProtobufDecoder(decoding_of(version)),
        origin=KAFKA,
        routes=by(route, Unknown.CREATE if create_unknown else Unknown.QUARANTINE),
        keys=keys,
        refused_keys=refused or {},
        refused_at=pa.scalar(NOW, pa.timestamp("us", tz="UTC")),
    )
    (found,) = decode_task([bronze_batch(*values)], plan)
    assert found.schema == stage_schema(plan)
    return found.to_pylist()


def test_a_row_goes_to_its_games_table():
    found = place(framed(KNOWN, "go_fish"), framed(KNOWN, "uno"))
    assert [row[TABLE] for row in found] == [1, 0]


def test_a_row_has_its_decoded_columns_and_its_origin():
    (row,) = place(framed(KNOWN, "uno", gamer="ann", device="d"))
    assert {name: value for name, value in row.items() if not name.startswith("#")} == {
        "game_name": "uno",
        "gamer_id": "ann",
        "event_timestamp": AT,
        "device_id": "d",
        "_topic": "t",
        "_partition": 0,
        "_offset": 0,
        "_kafka_timestamp": AT,
        "_schema_id": KNOWN,
    }


def test_a_new_game_whose_tables_are_anothers_is_refused_and_not_asked_about():
    values = [framed(KNOWN, key) for key in ("uno", "chess", "poker", "../x")]
    refused = {"hearts": "for one reason", "chess": "for another"}
    found = place(*values, create_unknown=True, refused=refused)
    assert [(row[TABLE], row["#reason"], row["#detail"]) for row in found] == [
        (0, None, None),
        (QUARANTINE, Reason.TABLE_TAKEN, "game_name = chess: for another"),
        (None, None, None),
        (QUARANTINE, Reason.BAD_KEY_NAME, "game_name = ../x"),
    ]
    assert [row[UNRESOLVED] for row in found] == [None, None, encoded(KeyQuestion("poker")), None]


def test_the_raw_value_of_a_good_row_does_not_travel():
    (row,) = place(framed(KNOWN))
    assert (row["#value"], row["#reason"], row["#detail"]) == (None, None, None)


@pytest.mark.parametrize(("value", "reason"), REFUSED)
def test_a_refused_row_goes_to_quarantine_whole_with_its_reason(value, reason):
    (row,) = place(value)
    assert (row[TABLE], row["#reason"], row["#value"]) == (QUARANTINE, reason, value)
    assert (row["_offset"], row["#refused_at"]) == (0, NOW)


def test_every_reason_is_tested():
    elsewhere = {
        Reason.EXPECTATION,
        Reason.INCOMPATIBLE_SCHEMA,
        Reason.FOREIGN_MESSAGE,
        Reason.WAITING,
        Reason.TABLE_TAKEN,
        Reason.TYPE_MISMATCH,
        Reason.UNKNOWN_COLUMN,
        Reason.SKIPPED,
        Reason.BAD_FILE,
        Reason.TRANSFORM_FAILED,
    }
    assert {reason for _, reason in REFUSED} == set(Reason) - elsewhere


def test_refused_rows_leave_their_neighbours_unharmed():
    found = place(framed(KNOWN, "uno"), b"x", framed(KNOWN)[:12], framed(KNOWN, "go_fish"), None)
    assert [row[TABLE] for row in found] == [0, QUARANTINE, QUARANTINE, 1, QUARANTINE]
    assert [row["gamer_id"] for row in found] == ["ann", None, None, "ann", None]


@pytest.mark.parametrize("create_unknown", [False, True])
@pytest.mark.parametrize("name", UNFIT_NAMES)
def test_a_name_that_is_no_folder_is_quarantined_whatever_the_route_says(name, create_unknown):
    (row,) = place(framed(KNOWN, name), create_unknown=create_unknown)
    assert (row[TABLE], row["#reason"]) == (QUARANTINE, Reason.BAD_KEY_NAME)
    assert row[UNRESOLVED] is None


def test_a_refused_game_is_named_in_the_detail():
    found = place(framed(KNOWN, "chess"), framed(KNOWN, "Ü" * 200))
    assert [row["#detail"] for row in found] == ["game_name = chess", "game_name = " + "Ü" * 100]


def test_a_new_game_raises_a_question_where_the_route_creates_tables():
    (row,) = place(framed(KNOWN, "x" * 64), create_unknown=True)
    assert row[UNRESOLVED] == encoded(KeyQuestion("x" * 64))
    assert (row[TABLE], row["#reason"]) == (None, None)


def test_an_id_never_met_raises_a_question():
    found = place(framed(KNOWN), framed(NEW))
    assert [row[UNRESOLVED] for row in found] == [None, encoded(SchemaIdQuestion(NEW))]
    assert (found[1][TABLE], found[1]["#reason"]) == (None, None)


def test_an_id_beyond_31_bits_raises_a_question_too():
    (row,) = place(framed(2**32 - 1))
    assert row[UNRESOLVED] == encoded(SchemaIdQuestion(4294967295))


def test_an_old_message_has_null_in_new_columns():
    found = place(framed(KNOWN), framed(KNOWN, version=1), version=1)
    assert [row["col_custom_1"] for row in found] == [None, "custom 1"]


def test_rows_come_out_in_their_order():
    values = [framed(KNOWN, "uno" if i % 3 else "chess") for i in range(9)]
    assert [row["_offset"] for row in place(*values)] == list(range(9))


def test_no_rows_are_no_rows():
    assert place() == []


def test_a_route_by_a_column_that_is_not_there_refuses_the_row():
    (row,) = place(framed(KNOWN), route="gone")
    assert (row["#reason"], row["#detail"]) == (Reason.BAD_KEY_NAME, "gone = ")


def test_a_route_by_a_column_that_is_no_text_uses_its_text():
    (row,) = place(framed(KNOWN), route="event_timestamp")
    assert row["#reason"] == Reason.BAD_KEY_NAME


def test_a_route_of_bytes_may_be_no_text():
    body = "message event { bytes game_name = 1; }"
    versions = {KNOWN: Version(number=1, descriptor_set=descriptor_set_of(body))}
    decoding = plan_decoding(SchemaSet(subject="s", versions=versions), pa.schema([]), "game_name")
    plan = DecodePlan(
        decoder=ProtobufDecoder(decoding),
        origin=KAFKA,
        routes=by("game_name"),
        keys=GAMES,
        refused_at=pa.scalar(NOW, pa.timestamp("us", tz="UTC")),
    )
    values = [frame(KNOWN, message_of(body, game_name=name)) for name in (b"uno", b"\xff", b"uno")]
    (found,) = decode_task([bronze_batch(*values)], plan)
    assert found[TABLE].to_pylist() == [0, QUARANTINE, 0]
    assert found["#reason"].to_pylist() == [None, Reason.BAD_KEY_NAME, None]


def test_columns_that_no_row_has_used_yet_are_null_for_conditions():
    columns = pa.schema([("later", pa.struct([("x", pa.int32())]))])
    plan = DecodePlan(
        decoder=ProtobufDecoder(decoding_of(0)),
        origin=KAFKA,
        unused=columns,
        routes=by("game_name"),
        keys=GAMES,
        refused_at=pa.scalar(NOW, pa.timestamp("us", tz="UTC")),
    )
    (found,) = decode_task([bronze_batch(framed(KNOWN), b"x")], plan)
    assert found["later"].to_pylist() == [None, None]
    assert found.schema == stage_schema(plan)


def test_without_a_route_every_decoded_row_goes_to_the_one_table():
    values = [framed(KNOWN, key) for key in ("uno", "chess", "../x", "")]
    found = place(*values, route=None, keys=("clicks",))
    assert [(row[TABLE], row["#reason"], row[UNRESOLVED]) for row in found] == [
        (0, None, None)
    ] * len(values)


@pytest.mark.parametrize(
    ("value", "reason"),
    [one for one in REFUSED if one[1] not in {Reason.UNKNOWN_KEY, Reason.BAD_KEY_NAME}],
)
def test_without_a_route_what_cannot_be_decoded_is_refused_all_the_same(value, reason):
    (row,) = place(value, route=None, keys=("clicks",))
    assert (row[TABLE], row["#reason"], row["#value"]) == (1, reason, value)


def test_without_a_route_an_unmet_schema_is_asked_about_before_its_rows_are_written():
    (row,) = place(framed(NEW), route=None, keys=("clicks",))
    assert (row["#reason"], row[UNRESOLVED]) == (None, encoded(SchemaIdQuestion(NEW)))
