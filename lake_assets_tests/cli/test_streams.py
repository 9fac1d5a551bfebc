import json

from lake_assets.state.stream_stops import stop_of
from lake_assets_tests.commandline import sparkless_here


def answer(settings, *arguments):
    done = sparkless_here(settings, "streams", *arguments, "--json")
    return json.loads(done.stdout.splitlines()[-1]), done.returncode


def test_a_stream_is_stopped_shown_and_started(settings):
    told, code = answer(settings, "stop", "--feed", "games", "--reason", "the topic moves")
    (stopped,) = told["result"]
    assert (code, told["ok"], told["command"]) == (0, True, "streams stop")
    assert (stopped["feed"], stopped["reason"]) == ("games", "the topic moves")
    assert "no streams run here" in stopped["state"]
    stop = stop_of(settings.state_dir, "games")
    assert "@" in stop.by
    told, _ = answer(settings, "status")
    assert told["result"] == [{"feed": "games", "state": "stopped", "detail": str(stop)}]
    told, _ = answer(settings, "start")
    assert told["result"] == [{"feed": "games", "was_stopped": True}]
    assert stop_of(settings.state_dir, "games") is None


def test_it_is_told_to_people_in_lines(settings):
    done = sparkless_here(settings, "streams", "stop")
    assert done.stdout.startswith("games: stopped by ")
    shown = sparkless_here(settings, "streams", "status").stdout
    assert "stopped" in shown
    assert sparkless_here(settings, "streams", "start").stdout.startswith("games: started")
    assert "nobody has stopped it" in sparkless_here(settings, "streams", "start").stdout


def test_an_unknown_feed_is_an_error_with_those_that_there_are(settings):
    told, code = answer(settings, "stop", "--feed", "gmaes")
    assert (code, told["ok"]) == (1, False)
    assert "games" in json.dumps(told["problems"])
