from pathlib import Path

import pyarrow as pa
import pytest

from lake_assets.feeds.load import load_feeds
from lake_assets.model.owners import Owner
from lake_assets.services.checkup import examine, judge_disk
from lake_assets.services.finding import Finding, Health
from lake_assets.settings.schema import (
    KafkaSettings,
    RegistrySettings,
    RuntimeSettings,
    Settings,
    StorageSettings,
)
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.lake_id import lake_id
from lake_assets_tests.services.secured import MARKER, STRANGER, Listener, Secured


def _found(settings: Settings) -> dict[str, Finding]:
    return {finding.thing: finding for finding in examine(settings)}


@pytest.mark.java
def test_a_new_home_has_nothing_broken(settings):
    found = _found(settings)
    assert all(finding.health is not Health.BROKEN for finding in found.values())
    assert found["Kafka"].fix == "lake-assets services up"
    assert not settings.home.exists()


@pytest.mark.kafka
def test_the_users_own_services_that_answer_are_fine(connected):
    found = _found(connected)
    assert found["Kafka"].health is Health.OK
    assert found["schema registry"].health is Health.OK


def test_the_users_own_services_that_do_not_answer_are_broken(settings):
    wrong = {
        "kafka": KafkaSettings(bootstrap_servers="127.0.0.1:1"),
        "registry": RegistrySettings(url="http://127.0.0.1:1"),
    }
    found = _found(settings.model_copy(update=wrong))
    assert found["Kafka"].health is Health.BROKEN
    assert found["schema registry"].health is Health.BROKEN


def _of(topic: str, folder: Path) -> Path:
    """A folder with a feed that reads a topic."""
    folder.mkdir(exist_ok=True)
    (folder / "mine.yaml").write_text(
        f"feed: mine\nsource: {{kafka: {{topic: {topic}}}}}\n"
        f"payload: {{protobuf: {{subject: {topic}-value}}}}\n"
        "route: {column: game_name, unknown: create}\n"
    )
    return folder


def _mine(settings: Settings, secured: Secured, topic: str, **login: str) -> Settings:
    """Settings with the secured broker and a feed that reads a topic of it."""
    kafka = KafkaSettings(
        bootstrap_servers=secured.address(Listener.SCRAM),
        options=secured.options(Listener.SCRAM, **login),
    )
    feeds = _of(topic, settings.home.parent / "feeds")
    return settings.model_copy(update={"kafka": kafka, "feeds": feeds})


@pytest.mark.kafka
def test_a_topic_that_we_have_no_right_to_is_broken(settings, secured):
    found = _found(_mine(settings, secured, "mine", user=STRANGER))
    assert found["Kafka"].health is Health.OK
    assert found["topic mine"].health is Health.BROKEN


@pytest.mark.kafka
def test_a_refused_login_is_broken_and_no_topic_is_asked_about(settings, secured, secured_registry):
    wrong = f"{MARKER} wrong"
    access = secured_registry.access(password=wrong)
    registry = RegistrySettings(
        url=secured_registry.url, user=access.user, password=wrong, ca=access.ca
    )
    mine = _mine(settings, secured, "mine", password=wrong)
    found = _found(mine.model_copy(update={"registry": registry}))
    assert "refuses the login" in found["Kafka"].fact
    assert "sasl." in found["Kafka"].fix
    assert "refuses us (401)" in found["schema registry"].fact
    assert "topic mine" not in found
    assert MARKER not in repr(found)


def test_a_table_of_another_layout_than_the_feed_says_is_broken(settings, tmp_path):
    text = (settings.feeds / "games.yaml").read_text()
    (tmp_path / "games.yaml").write_text(f"{text}\npartition_by: date(event_timestamp)\n")
    mine = settings.model_copy(update={"feeds": tmp_path})
    (feed,) = load_feeds(tmp_path)
    thing, columns = "layout of feed 'games'", pa.schema([("a", pa.int64())])
    assert _found(mine)[thing].health is Health.OK
    table = feed.silver_table(feed.keys[0])
    with open_lake(mine) as context:
        owner = Owner(feed="games", key=feed.keys[0])
        context.committer.create({table: columns}, owners={table: owner})
    finding = _found(mine)[thing]
    assert finding.health is Health.BROKEN
    assert finding.fact == (
        f"{table.name} is partitioned by nothing, and the feed says "
        "event_timestamp_date = date(event_timestamp)"
    )
    assert "lake-assets rebuild silver" in finding.fix
    assert thing not in _found(settings.model_copy(update={"home": tmp_path / "other"}))


def test_missing_jars_come_later(settings, tmp_path):
    empty = RuntimeSettings(cache=tmp_path / "cache")
    finding = _found(settings.model_copy(update={"runtime": empty}))["jars for spark"]
    assert finding.health is Health.LATER
    assert finding.fix


def test_a_cache_that_refuses_is_broken(settings, tmp_path):
    (tmp_path / "file").touch()
    closed = RuntimeSettings(cache=tmp_path / "file" / "cache")
    found = _found(settings.model_copy(update={"runtime": closed}))
    assert found["jars for kafka"].health is Health.BROKEN


def test_a_lake_inside_a_file_is_broken(settings, tmp_path):
    (tmp_path / "file").touch()
    finding = _found(settings.model_copy(update={"lake": tmp_path / "file" / "lake"}))[
        "lake folder"
    ]
    assert finding.health is Health.BROKEN
    assert "LAKE_ASSETS_HOME" in finding.fix


def test_a_state_folder_is_told_with_whose_it_is(settings, tmp_path):
    def state(lake):
        own = settings.model_copy(update={"lake": tmp_path / lake, "state": tmp_path / "state"})
        return own, _found(own)["state folder"]

    one, found = state("one")
    assert (found.health, found.fact) == (Health.OK, f"{tmp_path}/state, bound with the next use")
    id_ = lake_id(one)
    assert state("one")[1].fact == f"{tmp_path}/state, of lake {id_}"
    other = state("other")[1]
    assert other.health is Health.BROKEN
    assert f"cannot be used with this lake: it is the state of {tmp_path}/one" in other.fact
    assert "Set LAKE_ASSETS_STATE to an empty folder" in other.fix
    assert not (tmp_path / "other").exists()


def test_whether_a_state_can_be_kept_in_a_bucket_is_tried(settings, s3, bucket):
    places = {"lake": Path(f"s3://{bucket}/lake"), "state": Path(f"s3://{bucket}/state")}
    storage = StorageSettings(options={**s3.options, "max_retries": "0"})
    own = settings.model_copy(update={**places, "storage": storage})
    assert f"what lasts of it in s3://{bucket}/state" in _found(own)["state folder"].fact
    s3.refuse("PUT", "/state/", "AccessDenied")
    try:
        finding = _found(own)
    finally:
        s3.forgive()
    assert finding["state folder"].health is Health.BROKEN
    assert finding["lake"].health is Health.OK


def test_a_state_folder_inside_a_file_is_broken(settings, tmp_path):
    (tmp_path / "file").touch()
    finding = _found(settings.model_copy(update={"state": tmp_path / "file" / "state"}))
    assert finding["state folder"].health is Health.BROKEN
    assert "set LAKE_ASSETS_STATE" in finding["state folder"].fix


def test_a_state_folder_that_cannot_be_read_is_broken(settings, tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    finding = _found(settings.model_copy(update={"state": tmp_path / "loop"}))["state folder"]
    assert finding.health is Health.BROKEN
    assert f"{tmp_path / 'loop'} cannot be read" in finding.fact


@pytest.mark.parametrize(
    ("free_bytes", "health"),
    [
        (999_999_999, Health.BROKEN),
        (1_000_000_000, Health.LATER),
        (4_999_999_999, Health.LATER),
        (5_000_000_000, Health.OK),
    ],
)
def test_a_disk_is_judged_by_its_room(free_bytes, health):
    assert judge_disk(free_bytes).health is health


def test_nothing_is_said_of_a_registry_that_no_feed_needs(settings, tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "feed: mine\nsource: {kafka: {topic: t}}\npayload: {json: {schema: 'key string'}}\n"
        "route: {column: key, unknown: create}\n"
    )
    mine = {
        "kafka": KafkaSettings(bootstrap_servers="127.0.0.1:1"),
        "registry": RegistrySettings(url="http://127.0.0.1:1"),
        "feeds": tmp_path,
    }
    assert "schema registry" not in _found(settings.model_copy(update=mine))
