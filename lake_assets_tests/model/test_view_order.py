from itertools import pairwise

import pytest

from lake_assets.model.gold_views import GoldView
from lake_assets.model.view_order import (
    ViewName,
    cycle_among,
    in_order,
    readers_of,
    turns_of,
    views_read,
)
from lake_assets_tests.sample import GAMES


def view(name, *read):
    return GoldView(name=name, sql=f"from {', '.join(read)} select 1 as n")


def feed(name, *views):
    return GAMES.model_copy(update={"feed": name, "gold": views})


def names(views):
    return [one.name for one in views]


CHAIN = feed("a", view("c", "gold.b"), view("b", "gold.a", "silver"), view("a", "silver"))


def test_a_view_comes_after_those_that_it_reads():
    assert names(in_order(CHAIN, CHAIN.gold)) == ["a", "b", "c"]
    assert names(in_order(CHAIN, [CHAIN.gold[0], CHAIN.gold[2]])) == ["a", "c"]


def test_views_that_do_not_read_each_other_stay_as_they_are():
    one = feed("a", *(view(name, "silver") for name in "zby"))
    assert names(in_order(one, one.gold)) == ["z", "b", "y"]


def test_a_view_comes_after_those_that_it_reads_by_way_of_another_feed():
    other = feed("b", view("middle", "a.gold.first"))
    one = feed("a", view("last", "b.gold.middle"), view("first", "silver"))
    assert names(in_order(one.beside([one, other]), one.gold)) == ["first", "last"]


def test_views_read_are_told_with_their_feed():
    both = view("x", "gold.a", "b.gold.c", "silver", "b.silver")
    assert set(views_read(CHAIN, both)) == {ViewName("a", "a"), ViewName("b", "c")}


def test_a_cycle_is_told_in_the_order_of_reading():
    one = feed("a", view("x", "gold.y"), view("y", "b.gold.z"))
    other = feed("b", view("z", "a.gold.x"))
    cycle = cycle_among([one, other])
    assert cycle[0] == cycle[-1]
    assert set(cycle) == {ViewName("a", "x"), ViewName("a", "y"), ViewName("b", "z")}
    read = {name: dict.fromkeys(views_read(whose, one)) for whose, name, one in every(one, other)}
    assert all(after in read[before] for before, after in pairwise(cycle))
    assert cycle_among([CHAIN]) == ()


def every(*feeds):
    return [(whose, ViewName(whose.feed, one.name), one) for whose in feeds for one in whose.gold]


def test_the_readers_of_a_view_are_those_that_read_it_and_their_readers():
    assert readers_of(CHAIN, "a", CHAIN.gold) == ["b", "c"]
    assert readers_of(CHAIN, "c", CHAIN.gold) == []


def test_a_feed_whose_view_is_read_comes_first():
    reader = feed("a", view("x", "b.gold.y"))
    read = feed("b", view("y", "silver"))
    assert [one.feed for one in turns_of([reader, read])] == ["b", "a"]


def test_feeds_that_read_nothing_of_each_other_stay_as_they_are():
    feeds = [feed("b", view("y", "silver")), feed("a", view("x", "silver")), feed("c")]
    assert sorted(one.feed for one in turns_of(feeds)) == ["a", "b", "c"]
    assert [one.feed for one in turns_of(feeds) if one.gold] == ["b", "a"]


def test_feeds_that_read_each_other_have_a_turn_more():
    one = feed("a", view("last", "b.gold.middle"), view("first", "silver"))
    other = feed("b", view("middle", "a.gold.first"))
    assert [turn.feed for turn in turns_of([one, other])] == ["a", "b", "a"]


def test_a_feed_comes_once_where_that_is_enough():
    """It waits for what it reads, though some of its views could be computed before."""
    reader = feed("a", view("own", "silver"), view("x", "c.gold.z"))
    feeds = [reader, feed("b", view("y", "silver")), feed("c", view("z", "silver"))]
    assert [one.feed for one in turns_of(feeds)] == ["b", "c", "a"]


@pytest.mark.parametrize("is_first", [True, False])
def test_of_feeds_that_read_each_other_the_one_that_lets_another_end_comes_first(is_first):
    one = feed("a", view("own", "silver"), view("middle", "b.gold.first"))
    other = feed("b", view("first", "silver"), view("last", "a.gold.middle"))
    feeds = [one, other] if is_first else [other, one]
    assert [turn.feed for turn in turns_of(feeds)] == ["b", "a", "b"]


def test_a_view_of_a_feed_that_is_not_asked_for_is_waited_for_by_nobody():
    assert [one.feed for one in turns_of([feed("a", view("x", "b.gold.y"))])] == ["a"]


def test_feeds_are_many_and_their_queries_looked_at_seldom(monkeypatch):
    """Half a minute went by before the first refresh of a hundred feeds."""
    looks = []

    def counted(*arguments):
        looks.append(1)
        return views_read(*arguments)

    def looks_of(count):
        feeds = [feed(f"f{n}", view("a", f"f{n + 1}.gold.a")) for n in range(count - 1)]
        feeds.append(feed(f"f{count - 1}", view("a", "silver")))
        feeds = [one.beside(feeds) for one in feeds]
        looks.clear()
        assert [one.feed for one in turns_of(feeds)] == [f"f{n}" for n in reversed(range(count))]
        return len(looks)

    monkeypatch.setattr("lake_assets.model.view_order.views_read", counted)
    assert looks_of(20) < 5 * looks_of(10)
