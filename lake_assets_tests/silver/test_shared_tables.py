import threading

import pytest

from lake_assets.model.flows import filling
from lake_assets.silver.shared_tables import while_it_commits, while_it_fits
from lake_assets_tests.sample import GAMES

FLOW = filling(GAMES.model_copy(update={"feed": "twin", "into": "games"}), GAMES)

FEEDS = [feed.beside([GAMES, FLOW]) for feed in (GAMES, FLOW)]

LONG_S = 30


@pytest.fixture
def beside():
    """Has a thread do something; whether it could, at its end."""
    threads = []

    def begin(turn, feed, done):
        def go():
            with turn(feed):
                done.set()

        threads.append(threading.Thread(target=go))
        threads[-1].start()

    yield begin
    for thread in threads:
        thread.join(LONG_S)
        assert not thread.is_alive()


def test_feeds_commit_to_the_same_tables_at_once(beside):
    done = threading.Event()
    with while_it_commits(FEEDS[0]):
        beside(while_it_commits, FEEDS[1], done)
        assert done.wait(LONG_S)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (while_it_fits, while_it_commits),
        (while_it_commits, while_it_fits),
        (while_it_fits, while_it_fits),
    ],
)
def test_columns_change_while_no_other_feed_commits(beside, first, second):
    came, order = threading.Event(), []

    def turn(feed):
        came.set()
        return second(feed)

    with first(FEEDS[0]):
        done = threading.Event()
        beside(turn, FEEDS[1], done)
        assert came.wait(LONG_S)
        order.append(done.is_set())
    assert done.wait(LONG_S)
    assert order == [False]


def test_a_feed_with_tables_of_its_own_waits_for_nobody(beside):
    done = threading.Event()
    with while_it_fits(FEEDS[0]):
        beside(while_it_commits, GAMES, done)
        assert done.wait(LONG_S)


def test_a_turn_ends_by_an_error_too(beside):
    for turn in (while_it_fits, while_it_commits):
        with pytest.raises(RuntimeError), turn(FEEDS[0]):
            raise RuntimeError
    done = threading.Event()
    beside(while_it_fits, FEEDS[1], done)
    assert done.wait(LONG_S)
