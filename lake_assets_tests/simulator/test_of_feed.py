import pytest

from lake_assets.errors import SettingsError
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.payload import Payload
from lake_assets.model.routes import Unknown
from lake_assets.simulator.fitness import MODELS, FitnessEvents
from lake_assets.simulator.games.events import GameEvents
from lake_assets.simulator.of_feed import workload_of

ENDPOINTS = Endpoints(kafka="127.0.0.1:1", registry="http://127.0.0.1:1")
FITNESS = find_feed(load_feeds(None), "fitness")


def test_the_shipped_feeds_have_workloads_with_their_keys():
    games = find_feed(load_feeds(None), "games")
    of_games, of_trackers = workload_of(games, ENDPOINTS), workload_of(FITNESS, ENDPOINTS)
    assert isinstance(of_games, GameEvents)
    assert isinstance(of_trackers, FitnessEvents)
    assert (of_games.keys, of_trackers.keys) == (games.keys, MODELS)


def test_keys_may_be_others():
    assert workload_of(FITNESS, ENDPOINTS, ["a", "b"]).keys == ("a", "b")


def test_a_feed_that_declares_no_keys_needs_some():
    route = FITNESS.route.model_copy(update={"keys": (), "unknown": Unknown.CREATE})
    creating = FITNESS.model_copy(update={"route": route})
    assert workload_of(creating, ENDPOINTS, ["a"]).keys == ("a",)
    with pytest.raises(SettingsError, match="Declare keys in the feed's route, or name some"):
        workload_of(creating, ENDPOINTS)


def test_of_several_subjects_the_first_that_is_named_gets_events():
    games = find_feed(load_feeds(None), "games")

    def made(subjects):
        payload = Payload.model_validate({"protobuf": {"subjects": subjects}})
        return workload_of(games.model_copy(update={"payload": payload}), ENDPOINTS)

    assert made(["b", "a"])._registration.subject == "b"  # noqa: SLF001 - told nowhere else
    with pytest.raises(SettingsError, match=r"subjects that match 'a\.\*'"):
        made("a.*")


def test_a_feed_that_reads_something_else_has_none():
    other = Payload.model_validate({"json": {"schema": "id string"}})
    with pytest.raises(
        SettingsError, match=r"'fitness': has no simulator\. Simulated are feeds of"
    ):
        workload_of(FITNESS.model_copy(update={"payload": other}), ENDPOINTS)


def test_nothing_is_made_up_in_envelopes():
    wrapped = {"column": "body", "protobuf": {"subject": "b"}}
    other = Payload.model_validate({"protobuf": {"subject": "a"}, "wrapped": wrapped})
    with pytest.raises(SettingsError, match="has no simulator"):
        workload_of(FITNESS.model_copy(update={"payload": other}), ENDPOINTS)
