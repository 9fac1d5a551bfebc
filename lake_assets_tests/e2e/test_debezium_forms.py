"""Debezium's forms of a change, selected as docs/keyed-tables.md says: the same rows of all."""

import json

import pytest
import yaml
from deltalake import DeltaTable

from lake_assets.feeds.load import load_feeds
from lake_assets.settings.schema import KafkaSettings
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.events import Topic

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

ROW = "after: struct<id: bigint, name: string>, before: struct<id: bigint>"
PLAIN = ROW.replace("after:", "after").replace("before:", "before")

FORMS = {
    "plain": (
        f"op string, {PLAIN}, source struct<lsn: bigint>",
        ["coalesce(after.id, before.id) as id", "after.name", "source.lsn", "op"],
    ),
    "with_schema": (
        f"payload struct<op: string, {ROW}, source: struct<lsn: bigint>>",
        [
            "coalesce(payload.after.id, payload.before.id) as id",
            "payload.after.name as name",
            "payload.source.lsn as lsn",
            "payload.op as op",
        ],
    ),
    "flattened": (
        "id bigint, name string, __op string, __lsn bigint",
        ["id", "name", "__lsn as lsn", "__op as op"],
    ),
}

CHANGES = [
    ("r", 1, "ann", 100),
    ("r", 2, "bob", 100),
    ("u", 1, "anne", 140),
    ("d", 2, None, 150),
    ("u", 1, "anna", 120),
    ("c", 3, "cyd", 160),
    ("t", None, None, 110),
]


def written(form, op, id_, name, lsn):
    if form == "flattened":
        return {"id": id_, "name": name, "__op": op, "__lsn": lsn, "__deleted": str(op == "d")}
    after = {"id": id_, "name": name} if op in {"r", "u", "c"} else None
    before = {"id": id_} if op == "d" else None
    change = {"op": op, "before": before, "after": after, "source": {"lsn": lsn}, "ts_ms": 1}
    return change if form == "plain" else {"schema": {"type": "struct"}, "payload": change}


def test_all_forms_make_the_same_rows(settings, services, tmp_path):
    folder = tmp_path / "feeds"
    folder.mkdir()
    for form, (schema, select) in FORMS.items():
        topic = Topic(services)
        topic.produce(*(json.dumps(written(form, *one)).encode() for one in CHANGES))
        declared = {
            "feed": form,
            "source": {"kafka": {"topic": topic.name}},
            "payload": {"json": {"schema": schema, "on_unknown": "ignore"}},
            "select": select,
            "keyed": {
                "by": "id",
                "order": "lsn",
                "deletes": "op = 'd'",
                "truncates": "op = 't'",
            },
        }
        (folder / f"{form}.yaml").write_text(yaml.safe_dump(declared))
    kafka = KafkaSettings(bootstrap_servers=services.kafka)
    made = settings.model_copy(update={"feeds": folder, "kafka": kafka})
    for command in (("stream", "--until-caught-up"), ("refresh",)):
        done = lake_assets_here(made, *command)
        assert done.returncode == 0, done.stderr
    for feed in load_feeds(folder):
        table = feed.gold_table(feed.view("current"), feed.feed)
        rows = DeltaTable(made.lake_dir / table.relative).to_pyarrow_table().to_pylist()
        found = sorted((row["id"], row["name"], row["lsn"]) for row in rows)
        assert found == [(1, "anne", 140), (3, "cyd", 160)], feed.feed
