from lake_assets.gold.refresh_need import Silver
from lake_assets.gold.refresh_need_of_tables import (
    ReadTable,
    first_lacking,
    followers,
    is_behind_tables,
    position_of_tables,
    told_of_held,
    unread_tables,
    waits_for,
)
from lake_assets.model.gold_views import GoldView
from lake_assets.model.queries import QuerySource
from lake_assets.model.reports import RefreshReport
from lake_assets.model.tables import EVERY_KEY
from lake_assets_tests.sample import gold_of, silver_of

GOLD = QuerySource(view="agg")
SILVER = QuerySource(is_of_key=True)


def silver(version=0, table="t", commit="c"):
    return Silver(version=version, table=table, commit=commit)


def read_gold(key="uno", now=None):
    return ReadTable(source=GOLD, table=gold_of(key, "agg"), key=key, now=now)


def read_silver(key="uno", now=None):
    return ReadTable(source=SILVER, table=silver_of(key), key=key, now=now)


READS = [read_silver(now=silver()), read_gold(now=silver(3))]
POSITION = position_of_tables("d", READS)


def test_a_view_is_behind_until_it_stands_for_all_that_it_reads():
    assert is_behind_tables("d", READS, None)
    assert not is_behind_tables("d", READS, POSITION)
    assert is_behind_tables("other", READS, POSITION)


def test_a_view_is_behind_when_any_table_is_another():
    for now in (silver(4), silver(2), silver(3, table="made again"), silver(3, commit="restored")):
        assert is_behind_tables("d", [READS[0], read_gold(now=now)], POSITION)
        assert [r.key for r in unread_tables("d", [READS[0], read_gold(now=now)], POSITION)] == [
            "uno"
        ]
    assert unread_tables("d", READS, POSITION) == ()
    assert len(unread_tables("other", READS, POSITION)) == 2


def test_a_table_that_comes_makes_it_behind():
    more = [*READS, read_gold("go_fish", silver())]
    assert is_behind_tables("d", more, POSITION)
    assert [read.key for read in unread_tables("d", more, POSITION)] == ["go_fish"]


def test_a_view_waits_for_a_source_that_has_no_table_yet():
    reads = [read_silver(now=silver()), read_gold()]
    assert waits_for(reads, None) == "gold_all.agg, which it reads, has no table yet"
    assert not is_behind_tables("d", reads, None)


def test_a_view_waits_for_a_views_table_that_is_gone_and_keeps_what_it_has():
    reads = [read_silver(now=silver()), read_gold(), read_gold("go_fish", silver())]
    stands_for = position_of_tables("d", [READS[0], read_gold(now=silver(3)), reads[2]])
    said = "gold_uno_agg, which it was computed from, is gone until gold_all.agg is refreshed"
    assert waits_for(reads, stands_for) == said
    assert not is_behind_tables("d", reads, stands_for)
    # Who never read it computes from what is there.
    assert waits_for(reads, position_of_tables("d", [READS[0], reads[2]])) is None


def test_silver_that_is_gone_is_no_rows():
    source = QuerySource(feed="other")
    reads = [
        ReadTable(source=source, table=silver_of(key), key=key, now=now)
        for key, now in (("uno", None), ("go_fish", silver()))
    ]
    both = [ReadTable(source=source, table=silver_of("uno"), key="uno", now=silver()), reads[1]]
    assert is_behind_tables("d", reads, position_of_tables("d", both))


def test_a_table_lacks_versions_where_the_other_moved_on():
    reads = [read_silver(now=silver(5)), read_gold(now=silver(3)), read_gold("go_fish", silver(1))]
    assert first_lacking(reads, POSITION) == {silver_of("uno"): 1, gold_of("go_fish", "agg"): 0}


def view(read):
    return GoldView(name="v", sql=f"from {read} select 1 as n")


def test_a_view_follows_where_what_it_reads_is_refreshed():
    behind = {"agg": ("uno",), "other": ()}
    both = ("uno", "go_fish")
    assert followers(view("gold.agg"), both, behind) == ("uno",)
    assert followers(view("gold_all.agg"), (EVERY_KEY,), behind) == (EVERY_KEY,)
    assert followers(view("silver, gold_all.agg"), both, behind) == both
    assert followers(view("gold.other"), both, behind) == ()
    assert followers(view("x.gold.agg"), (EVERY_KEY,), behind) == ()


def test_a_view_says_that_it_has_nothing_new_since_what_it_reads_is_held_up():
    report = RefreshReport(refreshed=(), up_to_date=(("uno", "v"), ("go_fish", "v")))
    told = told_of_held(view("gold.agg"), report, {"agg": {"uno": "it fails"}})
    assert told.up_to_date == (("go_fish", "v"),)
    assert told.blocked == {"uno": "gold.agg, which it reads, is held up: it fails"}
    of_all = RefreshReport(refreshed=(), up_to_date=((EVERY_KEY, "v"),))
    told = told_of_held(view("gold_all.agg"), of_all, {"agg": {"uno": "it fails"}})
    assert told.blocked == {EVERY_KEY: "gold_all.agg of uno, which it reads, is held up: it fails"}
    assert told_of_held(view("gold.agg"), report, {"agg": {}}) == report
