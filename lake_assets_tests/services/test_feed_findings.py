import pytest

from lake_assets.feeds.load import load_feeds
from lake_assets.logs.schema_log import record_changes
from lake_assets.model.schema_history import Reason, Why, changes
from lake_assets.services.feed_findings import look_at_feeds
from lake_assets.services.finding import Health
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.run_notes import note_complete, note_run_failed
from lake_assets.state.select_notes import SelectedColumn, SelectNote, note_select


@pytest.fixture
def scheduled(settings, tmp_path):
    """The games, each hour."""
    folder = tmp_path / "scheduled"
    folder.mkdir()
    text = (settings.feeds / "games.yaml").read_text()
    (folder / "games.yaml").write_text(f'run: "0 * * * *"\n{text}')
    return settings.model_copy(update={"feeds": folder})


def test_of_feeds_without_a_schedule_nothing_is_told(settings):
    assert list(look_at_feeds(settings)) == []


def test_a_feed_with_a_schedule_is_told_with_its_next_run_and_its_last(scheduled):
    (found,) = look_at_feeds(scheduled)
    assert (found.thing, found.health) == ("feed 'games'", Health.OK)
    assert found.fact.startswith("runs next at ")
    assert found.fact.endswith(":00 UTC (0 * * * *); never ran")
    note_complete(scheduled.state_dir, "games", 1.8e9)
    (found,) = look_at_feeds(scheduled)
    assert found.fact.endswith("; has all of 2027-01-15 08:00 UTC")


def test_a_run_that_failed_is_broken_and_comes_with_what_runs_it_now(scheduled):
    note_run_failed(scheduled.state_dir, "games", 1.8e9, "topic 'a': does not exist")
    (found,) = look_at_feeds(scheduled)
    assert found.health is Health.BROKEN
    assert "of 2027-01-15 08:00 UTC, failed: topic 'a': does not exist" in found.fact
    assert found.fix == "lake-assets stream --feed games --until-caught-up"


def test_feeds_that_cannot_be_read_are_left_to_who_looks_at_them(settings, tmp_path):
    assert list(look_at_feeds(settings.model_copy(update={"feeds": tmp_path}))) == []


@pytest.fixture
def selecting(settings, tmp_path):
    """The games, with columns of their own."""
    folder = tmp_path / "selecting"
    folder.mkdir()
    text = (settings.feeds / "games.yaml").read_text()
    (folder / "games.yaml").write_text(f'select: ["*", "md5(gamer_id) as mark"]\n{text}')
    return settings.model_copy(update={"feeds": folder})


def test_where_a_select_is_computed_is_told_as_the_streams_noted_it(selecting):
    (found,) = look_at_feeds(selecting)
    assert (found.thing, found.health) == ("select of feed 'games'", Health.LATER)
    (feed,) = load_feeds(selecting.feeds)
    part = "md5(cast(gamer_id as binary))"
    for spark_part, fact in [(part, f"Spark computes mark, for {part}"), ("", "tasks compute all")]:
        mark = SelectedColumn(reads=("gamer_id",), is_copy=False, spark_part=spark_part)
        note = SelectNote(select=feed.select, columns={"mark": mark})
        note_select(selecting.state_dir, "games", note)
        (found,) = look_at_feeds(selecting)
        assert found.health is Health.OK
        assert found.fact.startswith(fact)


def test_a_column_that_spark_computes_for_a_key_is_told_with_the_key(settings, tmp_path):
    folder = tmp_path / "by_key"
    folder.mkdir()
    text = (settings.feeds / "games.yaml").read_text()
    selects = 'selects: {uno: ["*", "md5(gamer_id) as mark"], poker: ["md5(gamer_id) as mark"]}'
    (folder / "games.yaml").write_text(f"{selects}\n{text}")
    settings = settings.model_copy(update={"feeds": folder})
    (found,) = look_at_feeds(settings)
    assert found.health is Health.LATER
    (feed,) = load_feeds(folder)
    mark = SelectedColumn(reads=("gamer_id",), is_copy=False, spark_part="md5(gamer_id)")
    gamer = SelectedColumn(reads=("gamer_id",), is_copy=True)
    by_key = {"": {"gamer_id": gamer}, "uno": {"mark": mark}, "poker": {"mark": mark}}
    note = SelectNote(select=(), columns={"mark": mark}, selects=feed.selects, by_key=by_key)
    note_select(settings.state_dir, "games", note)
    (found,) = look_at_feeds(settings)
    assert found.fact == "Spark computes mark of uno, poker, for md5(gamer_id)"


def test_fields_of_several_subjects_with_columns_of_other_names_are_told(settings, tmp_path):
    folder = tmp_path / "several"
    folder.mkdir()
    text = "{feed: play, source: {kafka: {topic: play}}, payload: {avro: {subjects: 'a.*'}}}"
    (folder / "play.yaml").write_text(text)
    several = settings.model_copy(update={"feeds": folder})
    assert list(look_at_feeds(several)) == []
    columns = {"play": {"id": "string", "id_int": "int", "at_date": "date"}}

    def reason(name, _):
        field = None if name == "id" else name.partition("_")[0]
        return Reason(Why.REGISTRY, 1, 2, "a.chess", field)

    with open_lake(several) as context:
        record_changes(context, "play", lambda kept: changes(kept, columns, [], reason))
        del columns["play"]["at_date"]  # what tables have no more is not told
        record_changes(context, "play", lambda kept: changes(kept, columns, [], reason))
    (found,) = look_at_feeds(several)
    assert (found.thing, found.health) == ("columns of feed 'play'", Health.OK)
    said = "id_int of subject a.chess (its field id, of another type than the column id)"
    assert found.fact == said
