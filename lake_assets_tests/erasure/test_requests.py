import pytest

from lake_assets.erasure.requests import close_requests, make_table, open_requests
from lake_assets.erasure.wanted import Wanted
from lake_assets.model.erasures import Later
from lake_assets.model.tables import ERASURE_REQUESTS
from lake_assets_tests.erasure.asking import Asking
from lake_assets_tests.maintenance.lakes import WrittenLake


@pytest.fixture
def lake(settings):
    made = WrittenLake(settings, "games")
    make_table(made.committer)
    make_table(made.committer)
    yield made
    made.committer.close()


@pytest.fixture
def ask(lake):
    return Asking(lake.settings.lake_dir / ERASURE_REQUESTS.relative)


def test_rows_ask_and_leave_when_they_are_done(lake, ask):
    ask(("who", "ann", None), ("who", "bob", "drop"), ("who", "ann", "keep"))
    ask(("mail", "a@b", None), ("who", "ann", None))
    asked = open_requests(lake.committer).asked
    mail, who = sorted(asked[Later.DROP], key=lambda one: one.column)
    assert (mail.column, mail.values) == ("mail", ("a@b",))
    assert (who.column, sorted(who.values)) == ("who", ["ann", "bob"])
    assert [one.values for one in asked[Later.KEEP]] == [("ann",)]
    ask(("who", "cyd", None))  # meanwhile
    close_requests(lake.committer, Later.DROP, asked[Later.DROP])
    assert sorted(ask.left()) == ["ann", "cyd"]
    close_requests(lake.committer, Later.KEEP, asked[Later.KEEP])
    assert ask.left() == ["cyd"]
    close_requests(lake.committer, Later.KEEP, [Wanted(column="who", values=("cyd",))])
    assert ask.left() == ["cyd"]


def test_rows_that_say_nothing_are_told_and_hold_nobody_up(lake, ask):
    ask(("who", "ann", "perhaps"), ("", "ann", None), ("who", " ", None), ("who", "bob", None))
    found = open_requests(lake.committer)
    assert [one.values for one in found.asked[Later.DROP]] == [("bob",)]
    told = " ".join(found.unclear)
    for words in ("has 'perhaps' as `later`", "names no column", "names no value of who"):
        assert words in told
    close_requests(lake.committer, Later.DROP, found.asked[Later.DROP])
    assert sorted(ask.left()) == [" ", "ann", "ann"]
