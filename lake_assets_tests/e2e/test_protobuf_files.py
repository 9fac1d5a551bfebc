"""A feed of files of protobuf whose messages name their schema in a real registry."""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.files_source import FilesSource
from lake_assets.model.payload import Payload
from lake_assets.model.sources import Source
from lake_assets.model.tables import quarantine_of
from lake_assets_tests.events import Topic
from lake_assets_tests.sources.files.test_delimited import written
from lake_assets_tests.streamed_lake import StreamedLake

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


@dataclass(kw_only=True)
class RegisteredFiles(StreamedLake):
    endpoints: Endpoints

    def pipeline(self, context):
        return replace(super().pipeline(context), endpoints=self.endpoints)


def test_messages_of_files_are_decoded_as_those_of_a_topic(spark, connected, services, tmp_path):
    topic = Topic(services)
    ids = [
        topic.register_text("message Beat { string model = 1; int32 bpm = 2; }"),
        topic.register_text("message Beat { string model = 1; int32 bpm = 2; string at = 3; }"),
    ]
    one, two = (b"\0" + number.to_bytes(4, "big") + b"\0" for number in ids)
    content = written(one + b"\x0a\x01a\x10\x05", two + b"\x0a\x01b\x1a\x01x", b"no framing")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").write_bytes(content + b"\x7fcut off")
    source = FilesSource(path=str(tmp_path / "in"), format="protobuf", settle=timedelta(0))
    feed = topic.feed(
        source=Source(files=source),
        payload=Payload.model_validate({"protobuf": {"subject": topic.subject}}),
        route=None,
        expectations=(),
        gold=(),
    )
    lake = RegisteredFiles(spark=spark, settings=connected, feed=feed, endpoints=services)
    assert lake.stream() is None
    silver = sorted(lake.rows(feed.silver_table(feed.feed), "model", "bpm", "at", "_row"))
    assert [(row[0], row[3]) for row in silver] == [("a", 1), ("b", 2)]
    assert (silver[0][1], silver[1][2]) == (5, "x")
    bad = sorted(lake.rows(quarantine_of(feed.feed), "_row", "_position", "reason", "detail"))
    assert [row[:3] for row in bad] == [(3, 26, "not_framed"), (4, None, "bad_file")]
    assert "is cut off in the message at byte 36" in bad[1][3]
