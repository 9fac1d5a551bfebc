import pytest

from lake_assets.erasure.requests import close_requests, make_table, open_requests
from lake_assets.erasure.wanted import Wanted
from lake_assets.errors import ErasureError
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
    asked = open_requests(lake.committer)
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


def test_another_word_for_later_rows_is_refused(lake, ask):
    ask(("who", "ann", "perhaps"))
    with pytest.raises(ErasureError, match=r"has 'perhaps' as `later`.*drop or keep"):
        open_requests(lake.committer)
