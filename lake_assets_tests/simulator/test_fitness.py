import json
from collections import Counter

import numpy as np
import pytest

from lake_assets.errors import SettingsError
from lake_assets.simulator.fitness import FIELDS, MODELS, FitnessEvents


def chunk(events: FitnessEvents, count: int, versions: int = 1, first: int = 0):
    return events.chunk(count, versions, first=first, first_s=1_700_000_000.5, spacing_s=0.25)


def values(made):
    return [json.loads(message["value"]) for message in made.messages]


def test_events_are_json_with_the_fields_that_the_feed_declares():
    first, second, *_ = values(chunk(FitnessEvents(), 10))
    assert tuple(first) == FIELDS
    assert (first["time"], second["time"]) == (
        "2023-11-14T22:13:20.500Z",
        "2023-11-14T22:13:20.750Z",
    )
    assert first["version"] == "1.0"


def test_models_are_those_that_the_chunk_tells():
    made = chunk(FitnessEvents(), 2_000)
    told = Counter(MODELS[index] for index in made.keys.tolist())
    assert Counter(event["model"] for event in values(made)) == told
    assert told.keys() == set(MODELS)
    assert told["pulse"] > told["vita"]


def test_a_tracker_has_one_model_and_a_key_of_its_own():
    made = chunk(FitnessEvents(), 5_000)
    models = {}
    for message, event in zip(made.messages, values(made), strict=True):
        models.setdefault(message["key"], set()).add(event["model"])
    assert len(models) == 500
    assert all(len(model) == 1 for model in models.values())


def test_rates_are_those_of_people():
    beats = [e["heart_bpm"] for e in values(chunk(FitnessEvents(), 900))]
    assert 40 < min(beats) < 70 < np.median(beats) < 110 < max(beats) < 210


def test_newer_software_sends_a_field_that_nobody_declared():
    made = chunk(FitnessEvents(), 500, versions=2)
    for event, version in zip(values(made), made.versions.tolist(), strict=True):
        assert set(event) == {*FIELDS, *(["spo2_percent"] if version else [])}
    assert set(made.versions.tolist()) == {0, 1}


def test_one_event_in_a_thousand_has_text_for_a_number_wherever_chunks_begin():
    whole = values(chunk(FitnessEvents(), 2_500))
    broken = [index for index, event in enumerate(whole) if event["heart_bpm"] == "--"]
    assert broken == [999, 1999]
    assert values(chunk(FitnessEvents(), 10, first=990))[9]["heart_bpm"] == "--"


def test_the_same_seed_makes_the_same_events_and_another_one_others():
    assert chunk(FitnessEvents(seed=3), 50).messages == chunk(FitnessEvents(seed=3), 50).messages
    assert chunk(FitnessEvents(seed=3), 50).messages != chunk(FitnessEvents(seed=4), 50).messages


def test_without_models_there_is_nothing_to_make_up():
    with pytest.raises(SettingsError, match="fitness simulator: has no models to make events of"):
        FitnessEvents(())


def test_models_may_be_others():
    made = chunk(FitnessEvents([f"m{number}" for number in range(8)]), 3_000)
    assert {event["model"] for event in values(made)} == {f"m{number}" for number in range(8)}
