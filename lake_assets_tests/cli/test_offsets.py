import pytest

from lake_assets.settings.schema import KafkaSettings
from lake_assets_tests.commandline import answer_of, sparkless_here
from lake_assets_tests.events import AT, Topic


def feed_of(folder, source):
    folder.mkdir()
    text = f"feed: f\nsource: {source}\npayload: {{json: {{schema: a int}}}}\n"
    (folder / "f.yaml").write_text(text)
    return folder


@pytest.mark.kafka
def test_a_time_is_told_as_a_feeds_file_says_it(settings, services, tmp_path):
    topic = Topic(services)
    topic.create(partitions=1)
    topic.produce(b"{}", b"{}", at=AT)
    feeds = feed_of(tmp_path / "feeds", f"{{kafka: {{topic: {topic.name}}}}}")
    kafka = KafkaSettings(bootstrap_servers=services.kafka)
    mine = settings.model_copy(update={"feeds": feeds, "kafka": kafka})
    told = sparkless_here(mine, "offsets", "--since", "2026-11-22")
    assert told.stdout == "starting_offsets: {0: 2}\n"
    answer = answer_of(sparkless_here(mine, "offsets", "--since", "2026-11-20", "--json"))
    assert answer["result"] == {topic.name: {"0": 0}}


@pytest.mark.parametrize(
    ("source", "fact"),
    [
        ("{files: {path: /data, format: jsonl}}", "which has no offsets of its own"),
        ("{kafka: {topics: 'a-.*'}}", "topics that a pattern finds begin at their first row"),
    ],
)
def test_what_begins_at_no_offset_is_told(settings, tmp_path, source, fact):
    mine = settings.model_copy(update={"feeds": feed_of(tmp_path / "feeds", source)})
    done = sparkless_here(mine, "offsets", "--since", "2026-11-20")
    assert done.returncode == 1
    assert fact in done.stderr
