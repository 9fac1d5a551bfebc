"""A feed of envelopes from a real topic and registry to its tables, through changes of the body."""

from dataclasses import dataclass, field

import pytest

from lake_assets.logs.schema_log import entries_of
from lake_assets.model.payload import Payload
from lake_assets.model.routes import Route
from lake_assets.model.tables import quarantine_of
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.e2e.page_example import run_example
from lake_assets_tests.e2e.registered import RegisteredLake
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.avro.given import datum, framed, record
from lake_assets_tests.formats.protobuf.given import framed as framed_message
from lake_assets_tests.formats.protobuf.given import message_of
from lake_assets_tests.sample import silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

ENVELOPE = record(("tenant", "string"), ("body", ["null", "bytes"]))
WIDER = record(
    ("tenant", "string"),
    ("body", ["null", "bytes"]),
    {"name": "trace", "type": ["null", "string"], "default": None},
)

PLAYED = "message played { string game = 1; int32 score = 2; }"
RENAMED = "message played { string game = 1; int64 points = 2; string place = 3; }"
TWIN = "message played { string game = 1; int64 points = 2; string tenant = 4; }"

TOLD = "in body: field tenant is string in version 3, and the envelope has a column of that name"


@dataclass
class WrappedLake(RegisteredLake):
    """Envelopes of Avro with bodies of protobuf, routed by a column of the body."""

    bodies: Topic = field(init=False)
    """Whose subject is the bodies'; nothing is sent there."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.bodies = Topic(self.services)

    def feed(self, *more_keys):
        payload = {
            "avro": {"subject": self.topic.subject},
            "wrapped": {"column": "body", "protobuf": {"subject": self.bodies.subject}},
        }
        return self.topic.feed(
            payload=Payload.model_validate(payload),
            route=Route(column="game", keys=("uno", "go_fish", *more_keys)),
            expectations=(),
            gold=(),
        )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_bodies_change_while_the_streams_run_and_are_derived_again_as_they_were(  # noqa: PLR0915
    spark, connected, services
):
    lake = WrappedLake(spark, connected, services, "avro", "AVRO")
    outer, inner = lake.register(ENVELOPE), lake.bodies.register_text(PLAYED)

    def envelope(body, tenant="a", schema=ENVELOPE, schema_id=outer, **values):
        return framed(schema_id, datum(schema, {"tenant": tenant, "body": body, **values}))

    def played(schema_id=inner, text=PLAYED, **values):
        return framed_message(schema_id, message_of(text, "played", **{"game": "uno", **values}))

    uno, chess, refused = silver_of("uno"), silver_of("chess"), quarantine_of("games")
    with lake.streaming():
        garbage = (None, b"", b"nonsense", played(score=1)[:-1], played(99_999, score=1))
        lake.stream(
            envelope(played(score=1)),
            *map(envelope, garbage),
            envelope(played(game="chess", score=9)),
            b"no envelope",
            None,
        )
        assert lake.rows(uno, "tenant", "game", "score", "body") == [("a", "uno", 1, None)]
        # Both get new versions, and no restart.
        renamed, wider = lake.bodies.register_text(RENAMED), lake.register(WIDER)
        twin = lake.bodies.register_text(TWIN)
        lake.stream(
            envelope(played(renamed, RENAMED, points=2**40, place="Graz"), "b"),
            envelope(played(score=3), "c", WIDER, wider, trace="t"),
            envelope(played(twin, TWIN, points=4, tenant="mine"), "d"),
            envelope(played(game="go_fish", score=5), "e"),
        )
        found = lake.rows(uno, "tenant", "points", "place", "trace")
        assert found == [("a", 1, None, None), ("b", 2**40, "Graz", None), ("c", 3, None, "t")]
        assert [row[0] for row in lake.rows(silver_of("go_fish"), "tenant")] == ["e"]
        told = lake.rows(refused, "reason", "detail")
        assert ("incompatible_schema", TOLD) in told
        in_body = sorted(reason for reason, detail in told if (detail or "").startswith("in body"))
        assert in_body == [
            "empty_value",
            "empty_value",
            "incompatible_schema",
            "not_framed",
            "undecodable",
            "unknown_schema",
        ]
        assert ("not_framed", None) in told

        assert lake.requeue("chess")[chess.name] == 1
        assert lake.rows(chess, "tenant", "points") == [("a", 9)]
        others = lake.rows(refused, "_offset", "offset", "reason", "detail")
        every = ("_offset", "_partition", "tenant", "points", "place", "trace")
        before = lake.rows(uno, *every)
        lake.rebuild("chess")
        assert lake.rows(uno, *every) == before
        assert lake.rows(chess, "tenant", "points") == [("a", 9)]
        assert lake.rows(refused, "_offset", "offset", "reason", "detail") == others
        lake.stream(envelope(played(score=6), "f"))
        assert ("f", 6) in lake.rows(uno, "tenant", "points")
    with open_lake(connected) as context:
        entries = entries_of(context.lake, "games")
    versions = [(e.reason.subject, e.reason.version) for e in entries if e.registered is not None]
    assert sorted(versions) == sorted(
        [
            *((lake.topic.subject, number) for number in (1, 2)),
            *((lake.bodies.subject, number) for number in (1, 2, 3)),
        ]
    )
    why = {entry.column: entry.reason.schema_id for entry in entries if entry.key == "uno"}
    assert (why["tenant"], why["trace"], why["place"]) == (outer, wider, renamed)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_example_of_the_page_runs(connected, services, tmp_path):
    page, folder = "wrapped-messages.md", tmp_path / "feeds"
    _, counts = run_example(page, "calls", Topic(services), connected, folder)
    assert {key: table.num_rows for key, table in counts.items()} == {"at": 2, "de": 1}
    names = ["tenant", "country", "seconds"]
    assert counts["de"].select(names).to_pylist() == [
        {"tenant": "acme", "country": "de", "seconds": 60}
    ]
    assert "body" not in counts["de"].column_names
