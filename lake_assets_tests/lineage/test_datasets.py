from pathlib import Path

import pytest

from lake_assets.lineage.datasets import DatasetName, of_place, of_source
from lake_assets.model.feeds import Feed
from lake_assets.model.lake_uri import LakeUri


@pytest.mark.parametrize(
    ("place", "namespace", "name"),
    [
        (LakeUri.local(Path("/data/a lake/silver")), "file", "/data/a lake/silver"),
        (LakeUri.parse("s3://bucket/lake/silver"), "s3://bucket", "lake/silver"),
        (LakeUri.parse("gs://bucket"), "gs://bucket", "/"),
        (
            LakeUri.parse("abfss://box@acc.dfs.core.windows.net/lake"),
            "abfss://box@acc.dfs.core.windows.net",
            "lake",
        ),
    ],
)
def test_a_table_is_its_folder(place, namespace, name):
    assert of_place(place) == DatasetName(namespace, name)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ({"kafka": {"topic": "plays"}}, [("kafka://a:9092", "plays")]),
        (
            {"kafka": {"topics": ["plays", "beats"]}},
            [("kafka://a:9092", "plays"), ("kafka://a:9092", "beats")],
        ),
        ({"delta": {"path": "/data/orders"}}, [("file", "/data/orders")]),
        (
            {"files": {"path": "s3://box/in", "pattern": "*.jsonl", "format": "jsonl"}},
            [("s3://box", "in")],
        ),
    ],
)
def test_a_source_is_what_it_reads(source, found):
    payload = {"json": {"schema": "kind string, ante int"}}
    feed = Feed.model_validate({"feed": "play", "source": source, "payload": payload})
    assert [*of_source(feed, "a:9092,b:9092")] == [DatasetName(*one) for one in found]
