import pytest

from lake_assets.alerts.decide import Tracked
from lake_assets.alerts.outbox import Book, book_path, read_book, write_book
from lake_assets.model.alerts import Moment
from lake_assets_tests.alerts.problems import alert, problem

FIRST, SECOND = alert("a"), alert("b", Moment.ENDED)
BOTH = ("log", "webhook")


@pytest.fixture
def book():
    posted, lost = Book(tracked=(Tracked(problem=problem(), seen_since=1.5),)).post(
        [FIRST, SECOND], BOTH
    )
    assert lost == 0
    return posted


def test_a_lake_without_a_book_has_an_empty_one(tmp_path):
    assert read_book(tmp_path) == (Book(), None)


def test_a_book_survives_as_a_file(tmp_path, book):
    write_book(tmp_path, book)
    assert read_book(tmp_path) == (book, None)


def test_alerts_come_out_in_order(book):
    assert book.next_for("webhook").alert == FIRST
    after = book.taken(book.next_for("webhook"), "webhook")
    assert after.next_for("webhook").alert == SECOND


def test_an_alert_stays_until_every_sink_took_it(book):
    after = book.taken(book.next_for("webhook"), "webhook")
    assert after.next_for("log").alert == FIRST
    assert (after.waiting_for("log"), after.waiting_for("webhook")) == (2, 1)
    for _ in range(2):
        after = after.taken(after.next_for("log"), "log")
    assert [letter.to for letter in after.letters] == [("webhook",)]


def test_sinks_that_are_new_get_only_what_is_new(book):
    after, _ = book.post([FIRST], ("e-mail",))
    assert after.waiting_for("e-mail") == 1


def test_the_oldest_go_beyond_the_bound(book):
    after, lost = book.post([alert("c")], ("webhook",), at_most=2)
    assert (lost, [letter.alert.problem.subject for letter in after.letters]) == (1, ["b", "c"])


def test_a_book_that_cannot_be_read_is_put_aside(tmp_path):
    for _ in range(2):
        book_path(tmp_path).write_text("rubbish")
        found, aside = read_book(tmp_path)
        assert found == Book()
        assert aside.read_text() == "rubbish"
    assert len(list(tmp_path.iterdir())) == 2
