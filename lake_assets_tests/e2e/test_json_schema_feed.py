"""A feed of JSON Schema from a real topic and registry to its tables, through changes of schema."""

import pytest
from confluent_kafka.schema_registry import SchemaReference

from lake_assets.model.tables import quarantine_of
from lake_assets_tests.commandline import result_of, sparkless_here
from lake_assets_tests.e2e.page_example import run_example
from lake_assets_tests.e2e.registered import RegisteredLake
from lake_assets_tests.events import Topic
from lake_assets_tests.formats.json_schema.given import document, framed
from lake_assets_tests.sample import silver_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

UNO, CHESS = silver_of("uno"), silver_of("chess")

TEXT, NUMBER, FRACTION = {"type": "string"}, {"type": "integer"}, {"type": "number"}


REFUSED = [
    ("empty_value", None),
    ("not_framed", None),
    ("undecodable", "at character 8: Expecting value"),
]


@pytest.mark.timeout(900)
def test_versions_come_while_the_streams_run_and_rows_move_and_are_derived_again(
    spark, connected, services
):
    lake = RegisteredLake(spark, connected, services, "json", "JSON")
    first = lake.register(document(game=TEXT, score=NUMBER, gone=TEXT))
    names = ("score", "gone", "place", "_rescued")
    with lake.streaming():
        lake.stream(
            framed(first, {"game": "uno", "score": 1, "gone": "x"}),
            framed(first, {"game": "chess", "score": 9}),
            None,
            b"bad",
            framed(first, b'{"game":'),
        )
        assert lake.rows(UNO, *names) == [(1, "x", None, None)]

        second = lake.register(*of_two_subjects(lake))
        new = {"game": "uno", "score": 0.5, "place": {"x": 1.5}}
        lake.stream(framed(second, new), framed(first, {"game": "uno", "score": "3", "more": 1}))
        third = lake.register(document(game=TEXT, score=TEXT))
        lake.stream(framed(third, {"game": "uno", "score": "many"}))
        now = [
            (0.5, None, {"x": 1.5}, None),
            (1.0, "x", None, None),
            (None, None, None, '{"score":"3","more":1}'),
            (None, None, None, '{"score":"many"}'),
        ]
        assert lake.rows(UNO, *names) == now

        assert lake.requeue("chess")[CHESS.name] == 1
        assert lake.rows(CHESS, "score", "place") == [(9.0, None)]
        assert lake.rows(quarantine_of("games"), "reason", "detail") == REFUSED
        lake.rebuild("chess")
        assert lake.rows(UNO, *names) == now
        assert lake.rows(CHESS, "score", "place") == [(9.0, None)]
        assert lake.rows(quarantine_of("games"), "reason", "detail") == REFUSED


def of_two_subjects(lake):
    """A document that refers to one of another subject."""
    whose = f"{lake.topic.subject}-place"
    lake.register({"properties": {"x": FRACTION}}, whose)
    properties = {"game": TEXT, "score": FRACTION, "place": {"$ref": "place.json"}}
    return document(**properties), "", [SchemaReference("place.json", whose, 1)]


@pytest.mark.timeout(900)
def test_the_example_of_the_page_runs(connected, services, tmp_path):
    settings, found = run_example(
        "json-and-csv.md", "orders", Topic(services), connected, tmp_path / "feeds"
    )
    assert {key: table.num_rows for key, table in found.items()} == {"at": 2, "de": 1}
    (order,) = found["de"].to_pylist()
    assert (order["id"], order["note"], order["labels"]) == (1, None, [("channel", "web")])
    assert (order["ordered_at"].hour, order["lines"]) == (12, [{"sku": "a-1", "price": 19.9}])
    shown = sparkless_here(settings, "schemas", "--feed", "orders", "--json")
    told = {entry["column"]: (entry["type"], entry["why"]) for entry in result_of(shown)}
    assert told["lines"] == ("array<struct<sku: string, price: double>>", "registry")
