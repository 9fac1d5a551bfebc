import pytest
from pydantic import ValidationError

from lake_assets.model.sinks import Sink

REST = {"url": "https://api.example.com/sessions"}


def _sink(**changes):
    return Sink.model_validate({"name": "api", "from": "silver", "rest": REST, **changes})


def test_the_example_of_the_issue_is_a_sink():
    rest = {
        **REST,
        "rows_per_call": 10,
        "partitions": 8,
        "calls_in_flight": 1,
        "rate": "1000/s",
        "timeout": "5s",
        "body": "array",
        "auth": {"bearer": {"env": "SESSIONS_TOKEN"}},
        "allow_private": False,
    }
    shape = {"player": "gamer_id", "game": "game_name", "at": "event_timestamp"}
    sink = _sink(where="gamer_id <> ''", select=shape, rest=rest)
    assert sink.select == shape
    assert list(sink.select) == list(shape)
    assert (sink.rest.rate, sink.rest.in_flight) == (1000.0, 8)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"from": "bronze"}, "neither `silver` nor a view"),
        ({"from": "gold.player_agg"}, "rows of views cannot be sent yet"),
        ({"select": {}}, "names no field"),
        ({"select": {"a b": "x"}}, "no name of a field"),
        ({"where": ""}, "at least 1 character"),
        ({"name": "My Api"}, "is not a name"),
        ({"kafka": {}}, "Extra inputs"),
    ],
)
def test_what_is_no_sink_is_refused(changes, told):
    with pytest.raises(ValidationError, match=told):
        _sink(**changes)
