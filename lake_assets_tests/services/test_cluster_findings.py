"""What the doctor says of a Spark cluster."""

import socket
from pathlib import Path

import pytest
import yaml

from lake_assets.feeds.load import load_feeds
from lake_assets.runtime import python_package
from lake_assets.services.cluster_findings import look_at_cluster
from lake_assets.services.finding import Health
from lake_assets.settings.schema import KafkaSettings
from lake_assets.settings.spark import SparkSettings


@pytest.fixture
def master():
    """A port that takes connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def _on(settings, master, **spark):
    return settings.model_copy(
        update={
            "lake": Path("s3://lakes/one"),
            "kafka": KafkaSettings(bootstrap_servers="broker:9092"),
            "spark": SparkSettings(master=master, **spark),
        }
    )


def _found(settings, feeds=()):
    return [(found.thing, found.health, found.fact) for found in look_at_cluster(settings, feeds)]


def test_of_a_laptop_nothing_is_said(settings):
    assert _found(settings) == []


def test_a_cluster_that_answers_is_well(settings, master, tmp_path):
    package = tmp_path / "package.tar.gz"
    python_package.build(package, python_package.label(settings.feeds), [])
    nowhere = "127.0.0.1:1"
    assert _found(_on(settings, f"spark://{nowhere},{master}", package=package)) == [
        ("Spark master", Health.OK, f"spark://{master}"),
        ("Spark executors", Health.OK, f"get {package}"),
    ]
    ((_, health, fact), own) = _found(_on(settings, "yarn", python="/opt/python"))
    assert (health, fact) == (Health.OK, "yarn, not asked")
    assert own[1:] == (Health.OK, "have a Python of their own, at /opt/python")


def test_a_master_that_does_not_answer_is_told(settings):
    (first, _) = _found(_on(settings, "spark://127.0.0.1:1"))
    assert first[1] is Health.BROKEN
    assert "127.0.0.1:1 does not answer" in first[2]


def test_what_executors_would_not_reach_is_told(settings, master, tmp_path):
    beats = {"files": {"path": str(tmp_path), "format": "jsonl"}}
    feed = {"feed": "beats", "source": beats, "payload": {"json": {"schema": "bpm int"}}}
    (tmp_path / "beats.yaml").write_text(yaml.safe_dump(feed))
    (tmp_path / "games.yaml").write_text((settings.feeds / "games.yaml").read_text())
    own = _on(settings, f"spark://{master}", package=tmp_path / "absent.tar.gz")
    own = own.model_copy(update={"kafka": KafkaSettings()})
    found = _found(own, load_feeds(tmp_path))
    assert [(thing, health) for thing, health, _ in found[1:]] == [
        ("Spark executors", Health.BROKEN),
        ("Kafka for executors", Health.BROKEN),
        ("feed beats", Health.LATER),
    ]
    local = own.model_copy(update={"lake": None})
    assert "do not share" in _found(local)[1][2]
