"""Grants in each kind of catalogue: given, taken, and those of others kept."""

import pytest

from lake_assets.catalog.grants import by_principal, standing, with_readers
from lake_assets.catalog.sync import look_at_grants, open_catalog, registered_tables, sync
from lake_assets.model.feeds import Feed
from lake_assets_tests.catalog.lakes import FEED, fill

ANALYSTS, SCIENCE = "arn:aws:iam::123456789012:role/a", "arn:aws:iam::123456789012:role/s"
ADMIN = "arn:aws:iam::123456789012:role/admin"


def granting(*grants):
    return Feed.model_validate({**FEED.model_dump(), "grants": grants})


def grant(principal, *layers, keys=()):
    return {"principal": principal, "layers": layers, "keys": keys}


UNO = granting(grant(ANALYSTS, "silver", "gold", keys=["uno"]), grant(SCIENCE, "gold"))


@pytest.fixture(params=["of_unity", "of_glue"])
def lake(request):
    settings = request.getfixturevalue(request.param)
    fill(settings)
    return settings


def readers(settings):
    """By table who may read it, of those that somebody may."""
    with open_catalog(settings) as catalog:
        found = {
            table.name: sorted(name.rpartition("/")[2] for name in catalog.readers(table))
            for table in registered_tables(settings)
        }
    return {name: who for name, who in found.items() if who}


GRANTED = {
    "silver_uno_events": ["a"],
    "gold_uno_best": ["a", "s"],
    "all_play_all_of_it": ["s"],
}


def test_what_is_declared_is_granted_and_what_is_not_any_more_is_taken(lake):
    first = sync(lake, [UNO])
    assert [(one.table.name, len(one.missing)) for one in first.grants] == [
        ("silver_uno_events", 1),
        ("all_play_all_of_it", 1),
        ("gold_uno_best", 2),
    ]
    assert readers(lake) == GRANTED
    again = sync(lake, [UNO])
    assert (again.actions, again.grants) == ((), ())
    sync(lake, [granting(grant(SCIENCE, "silver"))])
    assert readers(lake) == {"silver_uno_events": ["s"], "silver_poker_events": ["s"]}
    sync(lake, [FEED])
    assert readers(lake) == {}


def test_grants_of_others_stay(lake):
    sync(lake, [UNO])
    with open_catalog(lake) as catalog:
        (table,) = [one for one in registered_tables(lake) if one.name == "gold_uno_best"]
        catalog.grant(table, [ADMIN])
    sync(lake, [granting(grant(ANALYSTS, "gold", keys=["uno"]))])
    assert readers(lake) == {"gold_uno_best": ["a", "admin"]}
    sync(lake, [FEED])
    assert readers(lake) == {"gold_uno_best": ["admin"]}


def test_who_takes_entries_over_takes_their_grants_over(lake, tmp_path):
    sync(lake, [UNO])
    restored = lake.model_copy(update={"home": tmp_path / "restored"})
    fill(restored)
    sync(restored, [granting(grant(SCIENCE, "gold", "silver"))], take_over=True)
    assert readers(restored) == {
        "silver_uno_events": ["s"],
        "silver_poker_events": ["s"],
        "gold_uno_best": ["s"],
        "all_play_all_of_it": ["s"],
    }


@pytest.mark.parametrize("lake", ["of_unity"], indirect=True)
def test_what_differs_is_told_and_put_right(lake):
    missing = look_at_grants(lake, [UNO])
    assert sum(len(one.missing) for one in missing) == 4
    sync(lake, [UNO])
    with open_catalog(lake) as catalog:
        (table,) = [one for one in registered_tables(lake) if one.name == "gold_uno_best"]
        catalog.revoke(table, [ANALYSTS])
    (one,) = [one for one in look_at_grants(lake, [UNO]) if one.missing]
    assert (one.table.name, one.missing, one.granted) == ("gold_uno_best", [ANALYSTS], [SCIENCE])
    planned = sync(lake, [UNO], dry_run=True)
    assert len(planned.grants) == 1
    assert readers(lake)["gold_uno_best"] == ["s"]
    sync(lake, [UNO])
    assert readers(lake) == GRANTED


@pytest.mark.parametrize("lake", ["of_unity"], indirect=True)
def test_a_table_stands_by_what_is_declared_noted_and_there(lake):
    sync(lake, [UNO])
    found = {table.name: table for table in registered_tables(lake)}
    table = found["gold_uno_best"]
    now = with_readers([granting(grant(SCIENCE, "gold"), grant(ADMIN, "gold"))], table)
    stands = standing(now, table, {ANALYSTS, SCIENCE, "eve"})
    assert (stands.granted, stands.missing, stands.surplus, stands.others) == (
        [SCIENCE],
        [ADMIN],
        [ANALYSTS],
        ["eve"],
    )
    names = {name: [one.name for one in tables] for name, tables in by_principal([table]).items()}
    assert names == {ANALYSTS: ["gold_uno_best"], SCIENCE: ["gold_uno_best"]}


def test_unity_lets_readers_find_what_they_may_read(of_unity, unity):
    fill(of_unity)
    sync(of_unity, [UNO])
    name = of_unity.catalog.name
    for place, privilege in (
        (f"schema/{name}.lake_gold", "USE SCHEMA"),
        (f"catalog/{name}", "USE CATALOG"),
    ):
        told = unity.ask("GET", f"/permissions/{place}")["privilege_assignments"]
        assert told == [
            {"principal": ANALYSTS, "privileges": [privilege]},
            {"principal": SCIENCE, "privileges": [privilege]},
        ]
