from uuid import uuid4

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from lake_assets.model.endpoints import Endpoints
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
    said = "4:34 expectations[0].sql: there is no column `plyer`. Write `player`"
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
