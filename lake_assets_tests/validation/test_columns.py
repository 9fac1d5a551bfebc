from uuid import uuid4

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from lake_assets.errors import SchemaNotFoundError, SchemaUnusableError
from lake_assets.model.endpoints import Endpoints
from lake_assets.validation import columns
from lake_assets_tests.validation.given import report_of, told

FEED = """feed: f
source: {{kafka: {{topic: t}}}}
payload: {{protobuf: {{subject: {subject}}}}}
expectations: [{{name: e, sql: "plyer <> ''"}}]
"""


def test_columns_of_a_registered_schema_are_those_of_the_registry_or_of_what_it_said(
    services: Endpoints, tmp_path
):
    subject = f"subject-{uuid4().hex[:8]}"
    text = f'syntax = "proto3"; package {subject.replace("-", "_")}; '
    with SchemaRegistryClient({"url": services.registry}) as client:
        client.register_schema(
            subject, Schema(f"{text}message Play {{ string player = 1; }}", "PROTOBUF")
        )
    feed = FEED.format(subject=subject)
    unknown = report_of(tmp_path, feed)
    assert unknown.errors == ()
    assert "because no registry runs here, and nothing is kept" in told(unknown.warnings[0])
    said = "4:32 expectations[0].sql: there is no column `plyer`. Write `player`"
    assert [told(one) for one in report_of(tmp_path, feed, endpoints=services).errors] == [said]
    kept = report_of(tmp_path, feed)
    assert ([told(one) for one in kept.errors], kept.warnings) == ([said], ())


def test_a_registry_that_does_not_answer_is_told(tmp_path):
    gone = Endpoints(kafka="", registry="http://127.0.0.1:1")
    report = report_of(tmp_path, FEED.format(subject="s"), endpoints=gone)
    assert report.errors == ()
    assert "columns could not be checked against the schema, because " in told(report.warnings[0])


@pytest.mark.parametrize("subject", ["no subject"])
def test_nothing_is_sent_where_no_registry_is(tmp_path, subject):
    """What is kept is asked, and nobody else."""
    (warning,) = report_of(tmp_path, FEED.format(subject=subject)).warnings
    assert (warning.line, "lake-assets services up" in warning.next_step) == (3, True)


def test_a_function_that_fails_is_an_error_where_it_is_named(tmp_path):
    feed = FEED.format(subject="s").replace(
        "protobuf: {subject: s}", "json: {schema: plyer string}"
    )
    report = report_of(tmp_path, f"{feed}transform: os:system\n")
    (error,) = report.errors
    assert error.line == 5
    assert "transform: transform of feed 'f': os:system raises for no rows" in error.fact


@pytest.mark.parametrize(
    ("problem", "is_wrong"),
    [
        (SchemaUnusableError("subject 's'", "is AVRO", "Register another"), True),
        (SchemaNotFoundError("subject 's'", "does not exist", "Register it"), False),
    ],
)
def test_what_a_registry_says_is_told_with_its_own_next_step(
    tmp_path, monkeypatch, problem, is_wrong
):
    def refuse(*_: object) -> None:
        raise problem

    monkeypatch.setattr(columns, "format_of", refuse)
    here = Endpoints(kafka="", registry="http://127.0.0.1:1")
    report = report_of(tmp_path, FEED.format(subject="s"), endpoints=here)
    (told_of,) = report.errors if is_wrong else report.warnings
    assert (told_of.line, told_of.next_step) == (3, problem.next_step)
    assert problem.fact in told_of.fact
