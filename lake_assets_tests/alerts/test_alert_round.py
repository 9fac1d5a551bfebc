"""Whole rounds with a file, a real HTTP server and a real mail server."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from lake_assets.alerts.alert_round import go_round
from lake_assets.alerts.decide import Look
from lake_assets.alerts.outbox import book_path, read_book, write_book
from lake_assets.errors import LakeError
from lake_assets.model.alerts import Problem, ProblemKind
from lake_assets.settings.alerts import AlertSettings, SmtpTls
from lake_assets.settings.load import child_environment
from lake_assets.state.files import turn
from lake_assets_tests.alerts.problems import problem

LOG = logging.getLogger("lake_assets_tests.alerts")

CHECK = problem()
DOWN = problem("streams", ProblemKind.STREAMS_FAILED)


@pytest.fixture
def told(settings, hook, office):
    """Settings with both servers."""
    alerts = AlertSettings(
        webhook_url=SecretStr(hook.url),
        smtp_host="localhost",
        smtp_port=office.port,
        smtp_tls=SmtpTls.NONE,
        smtp_from="lake@example.com",
        smtp_to="ops@example.com",
        timeout_s=2,
    )
    return settings.model_copy(update={"alerts": alerts})


@pytest.fixture
def go(told):
    def with_problems(now: float, *problems: Problem):
        return go_round(told, lambda _: Look(now=now, utc_now=now, problems=problems), LOG)

    return with_problems


def events(hook):
    return [(found["event"], found["subject"]) for found in hook.got]


def test_a_problem_is_told_to_every_sink_once_when_it_begins_and_once_when_it_ends(
    go, hook, office, caplog
):
    with caplog.at_level(logging.INFO, LOG.name):
        for now in (0, 10, 20):
            assert go(now, CHECK).open_problems == 1
        for now in (30, 90, 100):
            go(now)
    assert events(hook) == [("begun", CHECK.subject), ("ended", CHECK.subject)]
    assert len(office.subjects()) == 2
    assert len([record for record in caplog.records if record.name == LOG.name]) == 2


def test_a_round_without_news_writes_and_sends_nothing(go, told, hook):
    assert go(0).open_problems == 0
    assert not book_path(told.state_dir).exists()
    assert hook.got == []


def test_a_sink_that_is_down_gets_all_later_and_others_go_on(go, hook, office):
    hook.stop()
    found = go(0, CHECK)
    assert "1 alert(s) wait for the sink webhook" in found.complaints[0]
    go(10, CHECK, DOWN)
    go(20, CHECK)
    assert len(office.subjects()) == 3
    hook.start()
    assert go(30, CHECK).complaints == ()
    assert events(hook) == [
        ("begun", CHECK.subject),
        ("begun", "streams"),
        ("ended", "streams"),
    ]
    assert len(office.subjects()) == 3


def test_a_mail_server_that_is_down_gets_all_later_and_others_go_on(go, hook, office):
    office.stop()
    assert "1 alert(s) wait for the sink e-mail" in go(0, DOWN).complaints[0]
    go(10)
    assert events(hook) == [("begun", "streams"), ("ended", "streams")]
    office.start()
    assert go(20).complaints == ()
    assert office.subjects() == [
        "[lake_assets] Streams are down",
        "[lake_assets] Over after 5 s: Streams are down",
    ]


def test_a_mistake_after_news_was_kept_loses_none(go, told, hook):
    class Broken(logging.Logger):
        def log(self, *_args: object, **_kwargs: object) -> None:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        go_round(told, lambda _: Look(now=0, utc_now=0, problems=[CHECK]), Broken("broken"))
    assert hook.got == []
    go(10, CHECK)
    assert events(hook) == [("begun", CHECK.subject)]


_DOOMED = """
import logging, os
from lake_assets.alerts.decide import Look
from lake_assets.alerts.alert_round import go_round
from lake_assets.settings.load import load_settings
from lake_assets_tests.alerts.problems import problem

class Deadly(logging.Logger):
    def log(self, *_args, **_kwargs):
        os._exit(9)

go_round(load_settings(), lambda _: Look(now=0, utc_now=0, problems=[problem()]), Deadly("deadly"))
"""


def test_a_kill_between_deciding_and_delivering_loses_none(go, told, hook, office):
    root = Path(__file__).parents[2]
    environment = child_environment(told) | {"PYTHONPATH": str(root)}
    doomed = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _DOOMED], env=environment, cwd=root, check=False, timeout=60
    )
    assert doomed.returncode == 9
    assert hook.got == []
    go(10, CHECK)
    assert events(hook) == [("begun", CHECK.subject)]
    assert len(office.subjects()) == 1


def test_a_round_waits_for_no_other_process(go, told, hook):
    go(0)
    with turn(told.state_dir, "alerts"):
        assert go(10, CHECK) is None
    assert hook.got == []


def test_a_book_that_was_put_aside_is_complained_of(go, told):
    go(0, CHECK)
    book_path(told.state_dir).write_text("rubbish")
    assert "was put aside" in go(10, CHECK).complaints[0]


def test_alerts_that_are_given_up_are_complained_of(go, told, hook):
    hook.stop()
    go(0, CHECK)
    book, _ = read_book(told.state_dir)
    (waiting,) = book.letters
    crowded, _ = book.post([waiting.alert] * 10_000, ("webhook",))
    write_book(told.state_dir, crowded)
    assert "1 alert(s) are given up" in go(10, CHECK, DOWN).complaints[0]


def test_a_lake_that_cannot_be_written_is_an_error(told):
    told.home.mkdir()
    told.lake_dir.write_text("in the way")
    with pytest.raises(LakeError, match="cannot be written"):
        go_round(told, lambda _: Look(now=0, utc_now=0, problems=()), LOG)
