import json
import logging
import threading

import pytest

from lake_assets.runtime.log_lines import OURS, about, log_lines
from lake_assets.settings.upkeep import LogFormat

LOG = logging.getLogger(f"{OURS}.a_module")


def lines(capsys):
    return capsys.readouterr().err.splitlines()


def one(capsys):
    (line,) = lines(capsys)
    return json.loads(line)


def test_a_line_for_programs_has_the_message_and_what_it_is_about(capsys):
    with log_lines(LogFormat.JSON), about(feed="games", stage="demux", batch=7):
        LOG.warning("%s is slow", "a disk", extra={"table": "silver_uno_events"})
    line = one(capsys)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "message": "a disk is slow",
        "level": "warning",
        "logger": "lake_assets.a_module",
        "feed": "games",
        "stage": "demux",
        "batch": 7,
        "table": "silver_uno_events",
    }


def test_a_line_for_people_is_the_message(capsys):
    with log_lines(LogFormat.TEXT):
        LOG.info("games: 3 rows", extra={"feed": "games"})
    assert lines(capsys) == ["games: 3 rows"]


def test_trouble_says_for_people_what_it_is_about(capsys):
    with log_lines(LogFormat.TEXT), about(stage="demux", feed="games", batch=7):
        LOG.warning("a disk is slow")
        LOG.error("it is full", extra={"table": "silver_uno_events"})
    assert lines(capsys) == [
        "warning: a disk is slow (feed games, stage demux, batch 7)",
        "error: it is full (feed games, stage demux, batch 7, table silver_uno_events)",
    ]


def test_facts_hold_for_their_block_and_their_thread(capsys):
    def other():
        with about(feed="fitness"):
            LOG.info("beside")

    with log_lines(LogFormat.JSON):
        with about(feed="games", batch=1):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            LOG.info("within")
        LOG.info("after")
    found = [json.loads(line) for line in lines(capsys)]
    assert [(f["message"], f.get("feed"), f.get("batch")) for f in found] == [
        ("beside", "fitness", None),
        ("within", "games", 1),
        ("after", None, None),
    ]


@pytest.mark.parametrize("form", LogFormat)
def test_a_trace_tells_no_values_of_variables(capsys, form):
    def fail():
        password = "s3cr3t"  # noqa: S105 - a value that must not be told
        raise ValueError(f"{len(password)} characters do not fit")

    with log_lines(form):
        try:
            fail()
        except ValueError as problem:
            LOG.warning("it failed", exc_info=problem)
    told = capsys.readouterr().err
    assert "6 characters do not fit" in told
    assert "fail()" in told
    assert "s3cr3t" not in told.replace('password = "s3cr3t"', "")


def test_each_record_is_one_line_for_programs(capsys):
    with log_lines(LogFormat.JSON):
        try:
            raise ValueError("a\nb")  # noqa: TRY301 - what is logged
        except ValueError as problem:
            LOG.warning("it\nfailed", exc_info=problem)
    assert one(capsys)["message"] == "it\nfailed"


def test_what_json_has_no_word_for_is_told_as_text(capsys):
    with log_lines(LogFormat.JSON):
        LOG.info("x", extra={"place": ValueError("here")})
    assert one(capsys)["place"] == "here"


def test_other_packages_log_as_before(capsys):
    other = logging.getLogger("another.package")
    with log_lines(LogFormat.JSON):
        other.info("not asked for")
        assert not other.isEnabledFor(logging.INFO)
    assert lines(capsys) == []


def test_all_is_as_before_after_the_block(capsys):
    ours = logging.getLogger(OURS)
    before = (ours.level, list(ours.handlers))
    with log_lines(LogFormat.JSON):
        assert len(ours.handlers) == len(before[1]) + 1
    assert (ours.level, list(ours.handlers)) == before
    LOG.info("not said any more")
    assert lines(capsys) == []
