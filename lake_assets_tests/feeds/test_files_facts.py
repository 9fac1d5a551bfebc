"""A feed of files is refused where it is loaded if it names what files have not."""

import re

import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds

FEED = """feed: beats
source:
  files:
    path: /data/beats
    format: jsonl
payload: {json: {schema: "bpm int, model string"}}
"""


def load(tmp_path, text):
    (tmp_path / "beats.yaml").write_text(text)
    return load_feeds(tmp_path)


def test_a_feed_of_files_is_read(tmp_path):
    (feed,) = load(tmp_path, FEED)
    assert feed.source.files.settles_for_s == 10
    assert feed.source.declared.title == "files '/data/beats/*'"
    (again,) = load(tmp_path, FEED.replace("format: jsonl", "format: jsonl\n    settle: 0s"))
    assert not again.source.files.settle


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("format: jsonl", "format: avro", "files of format avro go with `avro`, not with `json`"),
        ("format: jsonl", "format: avro\n    encoding: latin-1", "files of avro are no text"),
        ("format: jsonl", "format: parquet\n    encoding: latin-1", "files of parquet are no text"),
        ("format: jsonl", "format: parquet\n    compression: gzip", "only its pages are"),
        ("format: jsonl", "format: csv", "files of format csv go with `csv`, not with `json`"),
        ("format: jsonl", "format: framed", "framed files name a registered schema. Give `subj"),
        ("format: jsonl", "format: framed\n    encoding: latin-1", "files of framed are no text"),
        (
            "format: jsonl",
            "format: orc",
            "source.files.format must be 'jsonl', 'json', 'csv', 'avro', 'parquet', 'protobuf' or",
        ),
        ("path: /data/beats", "path: data", "is no absolute path of a folder"),
        ("path: /data/beats", "path: ftp://data/beats", "is no address of a bucket and a prefix"),
        ("path: /data/beats", "path: /data/../x", "has `..` in it"),
        ("format: jsonl", "format: jsonl\n    header: true", "files of jsonl have none"),
        ("format: jsonl", "format: jsonl\n    pattern: /a", "is no pattern below the folder"),
        ("format: jsonl", "format: jsonl\n    pattern: '[0-9].csv'", "only `*`, `?` and `**/`"),
        ("format: jsonl", "format: jsonl\n    pattern: '*/_in/*'", "are never read"),
        ("format: jsonl", "format: jsonl\n    pattern: '*.tmp'", "are never read"),
        ("/data/beats", "//data/beats\n    archive: /data/beats/done", "found there again"),
        ("format: jsonl", "format: jsonl\n    encoding: utf-7777", "is no encoding"),
        ("format: jsonl", "format: jsonl\n    encoding: base64", "is no encoding of text"),
        ("format: jsonl", "format: jsonl\n    settle: 2d", "settle"),
        ("format: jsonl", "format: jsonl\n    archive: /data/beats/x", "found there again"),
        (
            "format: jsonl",
            "format: jsonl\n    archive: /x\n    delete: true",
            "Give `archive` or `delete`",
        ),
        (
            "format: jsonl\n",
            "format: jsonl\n    delete: true\nreset: allowed\n",
            "files are gone that `rebuild bronze` would read again",
        ),
        (
            '{json: {schema: "bpm int, model string"}}',
            "{json: {subject: x}}",
            "no registered schema",
        ),
        ("payload", "route: {header: kind, keys: [a]}\npayload", "rows of files have no header"),
        ("payload", "routes: [{topic: true, keys: [a]}]\npayload", "rows of files have no topic"),
        (
            "  files:",
            "  kafka: {topic: x}\n  files:",
            "Give exactly one of `kafka`, `files`, `delta`",
        ),
        ("bpm int", "_file int", "_file"),
    ],
)
def test_what_files_have_not_is_refused(tmp_path, right, wrong, told):
    assert right in FEED
    with pytest.raises(FeedError, match=re.escape(told)):
        load(tmp_path, FEED.replace(right, wrong))


AVRO = """feed: beats
source: {files: {path: /data/beats, format: avro}}
payload: {avro: {}}
"""


def test_schemas_come_with_files_of_avro_and_else_have_a_subject(tmp_path):
    (feed,) = load(tmp_path, f"{AVRO}route: {{column: model, keys: [vita]}}\n")
    assert not feed.payload.needs_registry
    with pytest.raises(FeedError, match=re.escape("Write `avro: {}`, since each file has its own")):
        load(tmp_path, AVRO.replace("{}", "{subject: x}"))
    kafka = "{kafka: {topic: t}}"
    with pytest.raises(
        FeedError, match=r"line 3: payload.avro is incomplete. Give `subject`, or `subjects`"
    ):
        load(tmp_path, AVRO.replace("{files: {path: /data/beats, format: avro}}", kafka))
    body = 'payload: {json: {schema: "body binary"}, wrapped: {column: body, avro: {}}}\n'
    with pytest.raises(FeedError, match=r"payload.wrapped.avro is incomplete. Give `subject`"):
        load(tmp_path, f"feed: beats\nsource: {kafka}\n{body}")


@pytest.mark.parametrize("payload", ["avro", "json", "protobuf"])
def test_framed_values_go_with_registered_schemas_alone(tmp_path, payload):
    text = AVRO.replace("format: avro", "format: framed")
    (feed,) = load(tmp_path, text.replace("{avro: {}}", f"{{{payload}: {{subject: x}}}}"))
    assert feed.payload.needs_registry
    with pytest.raises(FeedError, match="Give `subject`, or `subjects`"):
        load(tmp_path, text.replace("avro: {}", "protobuf: {file: /beat.proto, message: Beat}"))
    with pytest.raises(FeedError, match="framed go with `avro` or `json` or `protobuf`, not with"):
        load(tmp_path, text.replace("avro: {}", "csv: {schema: model string}"))


def test_a_declared_schema_of_messages_goes_with_files_alone(tmp_path):
    declared = "{protobuf: {file: /schemas/beat.proto, message: Beat}}"
    text = AVRO.replace("format: avro", "format: protobuf").replace("{avro: {}}", declared)
    (feed,) = load(tmp_path, text)
    assert not feed.payload.needs_registry
    for wrong, fact in (
        ("{protobuf: {file: beat.proto, message: Beat}}", "is no absolute path of a file"),
        ("{protobuf: {file: /beat.proto}}", "`file` goes with `message`"),
        (
            "{protobuf: {file: /beat.proto, message: Beat, subject: x}}",
            "`file` and a subject of a registry are given",
        ),
        ("{protobuf: {}}", "Give `subject`, or `subjects`"),
    ):
        with pytest.raises(FeedError, match=re.escape(fact)):
            load(tmp_path, text.replace(declared, wrong))
    kafka = "{kafka: {topic: t}}"
    with pytest.raises(FeedError, match=r"line 3: payload.protobuf is incomplete. Give `subject`"):
        load(tmp_path, text.replace("{files: {path: /data/beats, format: protobuf}}", kafka))
