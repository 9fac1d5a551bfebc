"""A topic streamed, and the same topic through the files of an export: the same rows."""

import json
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import Schema
from deltalake import DeltaTable

from lake_assets.formats.confluent.registry_client import registry_client
from lake_assets.model.endpoints import RegistryAccess
from lake_assets.model.files_source import FilesSource
from lake_assets.model.payload import Payload
from lake_assets.model.sources import Source
from lake_assets.model.tables import quarantine_of
from lake_assets_tests.commandline import lake_assets_here, sparkless_here
from lake_assets_tests.e2e.test_protobuf_files import RegisteredFiles
from lake_assets_tests.events import Topic
from lake_assets_tests.export.topics import export, fill, visible
from lake_assets_tests.formats.avro import given as avro
from lake_assets_tests.formats.json_schema import given as json_schema

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text()

ODD_VALUES = (
    b'{"model": "pulse", "heart_bpm": "fast", "more": [1.50, null]}',
    b'{\r\n  "model": "vita",\n  "kcal": 62\n}\n',
    b'\xef\xbb\xbf{"model": "vita", "kcal": 63}',
    b'{"version": "\\n\\u0000\xc3\xbc", "model": "pulse"}\r',
    b' \t{"model": "vita", "kcal": 65} ',
)

BAD_VALUES = (
    None,
    b"",
    b" \n ",
    b"no json",
    b'{"model": "vi\nta", "kcal": 1}',
    b'{"model": "vita"}\n{"model": "vita"}',
    b"\xff\xfe\n",
    b'"text"',
    b"[1]",
    b'\xef\xbb\xbf\xef\xbb\xbf{"model": "vita"}',
    b'{"model": "vita", "kcal": NaN}\n',
    b'{"model": "unknown"}',
)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def refused(settings, feed):
    table = settings.lake_dir / quarantine_of(feed).relative
    return DeltaTable(table).to_pyarrow_table().num_rows


@pytest.mark.slow
def test_both_ways_of_the_page_give_the_same_rows(connected, services, tmp_path):
    beats, out, folder = Topic(services), tmp_path / "beats", tmp_path / "feeds"
    beats.create(2)
    folder.mkdir()
    for text in blocks("yaml"):
        (name,) = re.findall(r"^feed: (\w+)", text, re.MULTILINE)
        own = text.replace("topic: beats", f"topic: {beats.name}")
        own = own.replace("/data/beats", str(out)).replace("beats-*", f"{beats.name}-*")
        (folder / f"{name}.yaml").write_text(own)
    settings = connected.model_copy(update={"feeds": folder})
    made = sparkless_here(settings, "produce", "--feed", "beats", "--events", "2000")
    assert made.returncode == 0, made.stderr
    fill(beats, *ODD_VALUES, *BAD_VALUES)
    done = sparkless_here(settings, "export", "--topic", beats.name, "--to", str(out))
    assert done.returncode == 0, done.stderr
    assert len(visible(out)) == 2
    streamed = lake_assets_here(settings, "stream", "--until-caught-up")
    assert streamed.returncode == 0, streamed.stderr
    (program,) = blocks("python")
    compared = subprocess.run(  # noqa: S603 - the page's own program
        [sys.executable, "-c", program, settings.lake_dir],
        capture_output=True,
        text=True,
        check=False,
    )
    assert compared.returncode == 0, compared.stderr
    counts = [int(line.split()[1]) for line in compared.stdout.splitlines()]
    assert sum(counts) == 2000 + len(ODD_VALUES)
    assert refused(settings, "beats") == refused(settings, "beats_by_files") == len(BAD_VALUES)


def protobuf_values(topic):
    """Two values of two versions."""
    ids = [
        topic.register_text("message Beat { string model = 1; int32 bpm = 2; }"),
        topic.register_text("message Beat { string model = 1; int32 bpm = 2; string at = 3; }"),
    ]
    one, two = (b"\0" + number.to_bytes(4, "big") + b"\0" for number in ids)
    return ids, (one + b"\x0a\x01a\x10\x05", two + b"\x0a\x01b\x1a\x01x")


def avro_values(topic):
    more = {"name": "at", "type": "string", "default": ""}
    fields = [("model", "string"), ("bpm", "int")]
    schemas = [avro.record(*fields), avro.record(*fields, more)]
    ids = [register(topic, schema, "AVRO", "doc") for schema in schemas]
    one, two = {"model": "a", "bpm": 5}, {"model": "b", "bpm": 0, "at": "x"}
    values = (avro.datum(schemas[0], one), avro.datum(schemas[1], two))
    return ids, map(avro.framed, ids, values)


def json_values(topic):
    columns = {"model": {"type": "string"}, "bpm": {"type": "integer"}}
    schemas = [json_schema.document(**columns, **more) for more in ({}, {"at": {"type": "string"}})]
    ids = [register(topic, schema, "JSON", "description") for schema in schemas]
    values = ({"model": "a", "bpm": 5}, {"model": "b", "bpm": 0, "at": "x"})
    return ids, map(json_schema.framed, ids, values)


def register(topic, schema, language, mark):
    """The id of a schema that no other test registers."""
    with registry_client(topic.endpoints.registry, RegistryAccess()) as client:
        made = Schema(json.dumps({**schema, mark: topic.subject}), language)
        return client.register_schema(topic.subject, made)


VALUES = {"protobuf": protobuf_values, "avro": avro_values, "json": json_values}


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ("protobuf", "protobuf"),
        pytest.param("avro", "framed", marks=pytest.mark.long),
        pytest.param("json", "framed", marks=pytest.mark.long),
    ],
)
def test_registered_values_are_decoded_alike_by_both_ways(
    spark, connected, services, tmp_path, payload, kind
):
    topic = Topic(services)
    ids, good = VALUES[payload](topic)
    topic.produce(*good, b"bad", None)
    export(topic, tmp_path / "out", format=kind)
    files = FilesSource(path=str(tmp_path / "out"), format=kind, settle=timedelta(0))
    declared = Payload.model_validate({payload: {"subject": topic.subject}})
    streamed = topic.feed(payload=declared, route=None, expectations=(), gold=())
    by_files = streamed.model_copy(update={"feed": "by_files", "source": Source(files=files)})
    lakes = [
        RegisteredFiles(spark=spark, settings=connected, feed=feed, endpoints=services)
        for feed in (streamed, by_files)
    ]
    assert [lake.stream() for lake in lakes] == [None, None]
    rows, same = (
        sorted(lake.rows(lake.feed.silver_table(lake.feed.feed), "model", "bpm", "_schema_id"))
        for lake in lakes
    )
    assert rows == same == [("a", 5, ids[0]), ("b", 0, ids[1])]
    assert refused(connected, by_files.feed) == refused(connected, streamed.feed) == 2
