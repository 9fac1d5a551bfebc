"""The examples of the pages on sinks that are tables, topics, classes and of views, in one lake."""

import json
import re
from pathlib import Path

import pytest
import yaml
from confluent_kafka.schema_registry import SchemaRegistryClient
from deltalake import DeltaTable
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from lake_assets.feeds.load import load_feeds
from lake_assets.runtime.protoc import compile_files
from lake_assets.settings.schema import KafkaSettings, RegistrySettings
from lake_assets.sinks.kafka.message_text import text_of
from lake_assets.sources.kafka.topics import end_offsets
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.databases import running_postgres
from lake_assets_tests.events import Topic

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

DOCS = Path(__file__).parents[2] / "docs"


def _blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def _pages():
    """The feed of all pages, with all of their sinks."""
    kinds = (*KINDS, "view")
    feed, to_kafka, own, of_view = (
        yaml.safe_load(_blocks(f"{kind}-sinks.md", "yaml")[0]) for kind in kinds
    )
    feed["gold"] = of_view["gold"]
    cheaters = yaml.safe_load(_blocks("kafka-sinks.md", "yaml")[1])
    feed["sinks"] += to_kafka["sinks"] + own["sinks"] + of_view["sinks"] + cheaters["sinks"]
    return feed


def _values():
    for kind in ("view", *KINDS):
        (first, *_) = _blocks(f"{kind}-sinks.md", "json")
        yield from (line.encode() for line in first.split("\n") if line)


def _made(*topics):
    for one in topics:
        one.create()
    return topics


def _own(services):
    return {
        "kafka": KafkaSettings(bootstrap_servers=services.kafka),
        "registry": RegistrySettings(url=services.registry),
    }


def _read_back(settings):
    """What another feed, the page's, has of the topic `cheaters`."""
    (settings.feeds / "cheaters.yaml").write_text(_blocks("kafka-sinks.md", "yaml")[2])
    done = lake_assets_here(settings, "stream", "--until-caught-up")
    assert done.returncode == 0, done.stderr
    feed = next(one for one in load_feeds(settings.feeds) if one.feed == "cheaters")
    table = settings.lake_dir / feed.silver_table("cheaters").relative
    return DeltaTable(table).to_pyarrow_table().select(["player", "game", "coins"]).to_pylist()


def _registered(services, subject):
    """The message types of a subject's newest version, as a text."""
    with SchemaRegistryClient({"url": services.registry}) as client:
        found = client.get_latest_version(subject).schema.schema_str
    made = compile_files("subject", {"feed.proto": found})
    return text_of(FileDescriptorSet.FromString(made).file[-1])


def test_the_pages_do_what_they_say(settings, services, tmp_path, monkeypatch):
    feed = _pages()
    topic, folder, winners = Topic(services), tmp_path / "feeds", tmp_path / "winners.jsonl"
    folder.mkdir()
    (folder / "my_sinks.py").write_text(_blocks("python-sinks.md", "python")[0])
    standings, prizes, own, best_scores, cheaters = feed["sinks"]
    own["python"]["options"]["path"] = str(winners)
    feed["source"]["kafka"]["topic"] = topic.name
    target, of_cheaters = _made(Topic(services), Topic(services, cheaters["kafka"]["topic"]))
    prizes["kafka"]["topic"] = target.name
    topic.produce(*_values())
    monkeypatch.setenv("STANDINGS_PASSWORD", "not-asked-for")
    with running_postgres() as databases:
        database = databases()
        standings["sql"]["url"] = best_scores["sql"]["url"] = database.url
        (folder / "plays.yaml").write_text(yaml.safe_dump(feed, sort_keys=False))
        made = settings.model_copy(update={"feeds": folder, **_own(services)})
        done = lake_assets_here(made, "stream", "--until-caught-up")
        assert done.returncode == 0, done.stderr
        found = database.ask("select player, game, coins from standings")
        best = database.ask("select game, player, coins from best_scores order by 1, 2")
        again = lake_assets_here(made, "deliver")
        cheaters_read = _read_back(made)
    # Rows of the other pages came later: of ann there are fewer coins again.
    assert sorted(found) == [("ann", "uno", 3), ("bob", "chess", 2), ("eve", "chess", 2_000_000)]
    assert best == [("chess", "bob", 2), ("chess", "eve", 2_000_000), ("uno", "ann", 5)]
    lines = winners.read_text().splitlines()
    assert sorted(json.loads(line)["coins"] for line in lines) == [3, 3, 3, 3, 5, 5]
    assert again.stdout.count("0 rows in 0 calls") == 5
    assert sum(end_offsets(services, target.name).values()) == 7
    assert cheaters_read == [{"player": "eve", "game": "chess", "coins": 2_000_000}]
    assert [_registered(services, of_cheaters.subject)] == _blocks("kafka-sinks.md", "proto")


KINDS = ("sql", "kafka", "python")
