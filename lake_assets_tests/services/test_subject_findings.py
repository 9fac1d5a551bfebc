import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.subjects import Subjects
from lake_assets.services.checkup import examine
from lake_assets.services.finding import Health
from lake_assets.services.subject_findings import found_of, look_at_subjects

FEED = """
feed: play
source: {kafka: {topic: play}}
payload: {avro: {subjects: SUBJECTS}}
"""


def settings_with(settings, folder, subjects):
    folder.mkdir(exist_ok=True)
    (folder / "play.yaml").write_text(FEED.replace("SUBJECTS", subjects))
    return settings.model_copy(update={"feeds": folder})


def test_what_is_there_is_told_and_what_is_not_comes_later():
    named = Subjects(names=("a.Uno", "a.Chess"))
    both = found_of(named, ["a.Uno", "other", "a.Chess"])
    assert (both.thing, both.health) == ("subjects 'a.Uno', 'a.Chess'", Health.OK)
    assert both.fact == "2 (a.Chess, a.Uno)"
    one = found_of(named, ["a.Uno"])
    assert (one.health, one.fact) == (Health.LATER, "1 (a.Uno); not yet: a.Chess")
    assert one.fix.startswith("Register it")
    assert found_of(named, []).fact == "none yet"
    pattern = Subjects(pattern=r"a\..*")
    assert found_of(pattern, ["b"]).health is Health.LATER
    many = found_of(pattern, [f"a.{n}" for n in range(9)])
    assert (many.health, many.fact) == (Health.OK, "9 (a.0, a.1, a.2, a.3, a.4 …)")


@pytest.mark.kafka
def test_the_doctor_tells_of_the_users_own_registry(connected, tmp_path):
    name = f"doctor.{tmp_path.name}"
    mine = settings_with(connected, tmp_path / "feeds", f"['{name}']")
    thing = f"subjects '{name}'"
    found = {one.thing: one for one in examine(mine)}
    assert found[thing].health is Health.LATER
    record = '{"type": "record", "name": "Uno", "fields": [{"name": "a", "type": "int"}]}'
    with SchemaRegistryClient({"url": connected.registry.url}) as client:
        client.register_schema(name, Schema(record, "AVRO"))
    found = {one.thing: one for one in examine(mine)}
    assert (found[thing].health, found[thing].fact) == (Health.OK, f"1 ({name})")


def test_a_registry_that_does_not_answer_is_broken(settings, tmp_path):
    mine = settings_with(settings, tmp_path / "feeds", "'a.*'")
    down = Endpoints(kafka="", registry="http://127.0.0.1:1")
    (found,) = look_at_subjects(mine, down, timeout_s=1)
    assert (found.thing, found.health) == ("subjects that match 'a.*'", Health.BROKEN)
    assert "cannot be reached" in found.fact


def test_of_feeds_of_one_subject_or_that_cannot_be_read_nothing_is_told(settings, tmp_path):
    down = Endpoints(kafka="", registry="http://127.0.0.1:1")
    assert list(look_at_subjects(settings, down, timeout_s=1)) == []
    broken = settings_with(settings, tmp_path / "feeds", "[]")
    assert list(look_at_subjects(broken, down, timeout_s=1)) == []
