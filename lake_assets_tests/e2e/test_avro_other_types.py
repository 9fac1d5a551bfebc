"""Fields of Avro that get several types, and numbers that become times, from a real registry."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import pytest
from deltalake import DeltaTable

from lake_assets.model.feeds import Feed
from lake_assets.model.tables import TableRef, quarantine_of
from lake_assets_tests.e2e.registered import RegisteredLake
from lake_assets_tests.formats.avro.given import framed, record
from lake_assets_tests.sample import silver_of

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka]

KEY = ("game", "string")
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MOVE, PASS = record(("card", "string"), name="Move"), record(("turns", "int"), name="Pass")

FIRST = record(KEY, ("score", "string"), ("at", "long"), ("play", MOVE), ("tags", ["null", "int"]))

SECOND = record(
    KEY,
    ("score", ["null", "string", "long"]),
    ("at", MILLIS),
    ("play", [MOVE, PASS]),
    ("tags", ["null", "int"]),
)
"""A field of one type has several, another becomes a time."""

THIRD = record(KEY, ("score", "long"), ("at", "long"), ("play", PASS), ("tags", ["null", "int"]))
"""One type again, and it is the later one; a time becomes a number."""

COLUMNS = ("at", "score", "score_other_types", "play", "play_other_types")
NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)
MS = 1_795_608_000_000


def datum(schema: Any, **values: Any) -> bytes:
    out = io.BytesIO()
    parsed = fastavro.parse_schema(json.loads(json.dumps(schema)))
    fastavro.schemaless_writer(out, parsed, {"game": "uno", "tags": None, **values})
    return out.getvalue()


def other(value: Any) -> Any:
    return {"member1": value}


EXPECTED = sorted(
    [
        (1, "a", None, {"card": "red"}, None),
        (2, None, other(5), None, other({"turns": 3})),
        (4, "d", None, {"card": "blue"}, None),
        (MS, None, other(6), None, other({"turns": 1})),
        (MS + 1, "c", None, {"card": "green"}, None),
    ],
    key=str,
)


def by_duckdb(folder: Path) -> list[tuple[Any, ...]]:
    """What DuckDB reads in the files; those of older schemas lack columns."""
    files = DeltaTable(folder).file_uris()
    with duckdb.connect() as db:
        found = (
            db.read_parquet(files, union_by_name=True)
            .project(", ".join(f'"{one}"' for one in COLUMNS))
            .fetchall()
        )
    return sorted(found, key=str)


def stream_all(lake: RegisteredLake, first: int) -> int:
    """Rows of three versions, as they come, some of a key that is not known; the last one's id."""

    def old(at: int, score: str, card: str, game: str = "uno") -> bytes:
        return framed(first, datum(FIRST, game=game, at=at, score=score, play={"card": card}))

    lake.stream(old(1, "a", "red"), old(1, "a", "red", "chess"))
    second = lake.register(SECOND)
    passed = {"at": NOON, "score": 6, "play": ("Pass", {"turns": 1})}
    later = NOON.replace(microsecond=1000)
    moved = {"at": later, "score": "c", "play": ("Move", {"card": "green"})}
    lake.stream(*(framed(second, datum(SECOND, **one)) for one in (passed, moved)))
    lake.stream(framed(second, datum(SECOND, game="chess", **passed)))
    third = lake.register(THIRD)
    last = datum(THIRD, at=2, score=5, play={"turns": 3})
    lake.stream(framed(third, last), old(4, "d", "blue"))
    return third


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_streams_a_requeue_and_rebuilds_make_the_same_tables(spark, connected, services):
    lake = RegisteredLake(spark, connected, services, "avro", "AVRO")
    uno, chess = silver_of("uno"), silver_of("chess")
    folder = connected.lake_dir / uno.relative

    def values(table: TableRef) -> list[tuple[Any, ...]]:
        return lake.rows(table, *COLUMNS)

    first = lake.register(FIRST)
    with lake.streaming():
        third = stream_all(lake, first)
        assert values(uno) == EXPECTED
        assert by_duckdb(folder) == EXPECTED
        assert lake.requeue("chess")[chess.name] == 2
        assert values(chess) == EXPECTED[:2]
        assert lake.rows(quarantine_of("games"), "reason") == []

        rows = spark.read.format("delta").load(str(folder))
        found = rows.selectExpr("at", "score_other_types.member1", "play.card").collect()
        want = {(a, s and s["member1"], p and p["card"]) for a, _, s, p, _ in EXPECTED}
        assert {tuple(one) for one in found} == want
        types = dict(rows.dtypes)
        assert (types["at"], types["score_other_types"]) == ("bigint", "struct<member1:bigint>")

        lake.rebuild("chess")
        assert values(uno) == EXPECTED
        assert values(chess) == EXPECTED[:2]
        assert dict(spark.read.format("delta").load(str(folder)).dtypes) == types
        lake.stream(framed(third, datum(THIRD, at=9, score=7, play={"turns": 2})))
        assert (9, None, other(7), None, other({"turns": 2})) in values(uno)


class SelectingLake(RegisteredLake):
    """Whose feed says that numbers are times."""

    selects = False

    def feed(self, *more_keys: str) -> Feed:
        items = ("*", "timestamp_millis(at) AS happened_at") if self.selects else ()
        return super().feed(*more_keys).model_copy(update={"select": items})


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_numbers_that_are_times_are_selected_as_such_and_a_rebuild_gives_them_to_all(
    spark, connected, services
):
    lake = SelectingLake(spark, connected, services, "avro", "AVRO")
    uno = silver_of("uno")
    first = lake.register(FIRST)
    with lake.streaming():
        lake.stream(framed(first, datum(FIRST, at=MS, score="a", play={"card": "red"})))
        second = lake.register(SECOND)
        moved = datum(SECOND, at=NOON, score="c", play=("Move", {"card": "green"}))
        lake.stream(framed(second, moved))
        assert lake.rows(uno, "at", "happened_at") == [(MS, None), (MS, None)]
    lake.selects = True
    with lake.streaming():
        lake.rebuild()
        assert lake.rows(uno, "at", "happened_at") == [(MS, NOON), (MS, NOON)]
