from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lake_assets.catalog.entries import LAKE, CatalogColumn, CatalogTable
from lake_assets.catalog.plan import Do, plan

OURS, THEIRS = "ours", "theirs"


def table(name="uno", database="silver", lake=OURS, **told):
    columns = (CatalogColumn(name="kind", type="string"), CatalogColumn(name="ante", type="int"))
    usual = {"columns": columns, "location": f"file:///{name}", "comment": "rows"}
    properties = {LAKE: lake} if lake else {}
    return CatalogTable(database=database, name=name, properties=properties, **{**usual, **told})


def decided(wanted, registered=(), databases=("silver",), **told):
    found = plan(OURS, wanted, registered, databases, **told)
    return [(action.do, action.name, action.why) for action in found.actions], found.conflicts


def why(found, wanted):
    ((do, _, reason),), _ = decided([wanted], [found])
    assert do is Do.UPDATE
    return reason


def test_what_is_not_there_is_made_with_its_database():
    assert decided([table()], databases=["Other"]) == (
        [
            (Do.CREATE_DATABASE, "silver", "is not there"),
            (Do.CREATE, "silver.uno", "is new"),
        ],
        (),
    )


def test_what_is_as_it_should_be_is_left_alone():
    assert decided([table()], [table()]) == ([], ())


def test_each_difference_is_told():
    kind, ante = table().columns
    now = replace(ante, type="bigint")
    described = replace(kind, comment="of game")
    assert why(table(), table(columns=(kind, now))) == "has ante as bigint, not int"
    assert why(table(columns=(kind,)), table()) == "has a new column ante"
    assert why(table(), table(columns=(kind,))) == "has no column ante any more"
    assert why(table(), table(columns=(ante, kind))) == "has its columns in another order"
    assert why(table(), table(columns=(described, ante))) == "has another description of kind"
    assert why(table(), table(comment="")) == "has another description"
    assert why(table(location="file:///a"), table()) == "is at file:///uno, not file:///a"
    more = replace(table(), properties={LAKE: OURS, "lake_assets.key": "uno"})
    assert why(table(), more) == "has other properties: lake_assets.key"
    assert why(more, table()) == "has other properties: lake_assets.key"


def test_catalogues_that_know_no_case_tell_of_names_in_small_letters():
    upper = tuple(replace(one, name=one.name.upper()) for one in table().columns)
    assert decided([table("UNO", columns=upper, location="x")], [table(location="x")]) == ([], ())


def test_entries_of_others_stay_whatever_the_lake_has():
    for lake in ("", THEIRS):
        actions, (conflict,) = decided([table()], [table(lake=lake), table("poker", lake=lake)])
        assert actions == []
        assert conflict.name == "silver.uno"


def test_what_another_lake_registered_can_be_taken_over_and_what_nobody_did_cannot():
    actions, conflicts = decided([table()], [table(lake=THEIRS)], take_over=True)
    assert ([do for do, *_ in actions], conflicts) == ([Do.UPDATE], ())
    actions, conflicts = decided([table()], [table(lake="")], take_over=True)
    assert (actions, len(conflicts)) == ([], 1)


def test_what_is_gone_is_dropped_before_its_place_gets_another_name():
    actions, _ = decided([table("chess", location="a")], [table(location="a")])
    assert [(do, name) for do, name, _ in actions] == [
        (Do.DROP, "silver.uno"),
        (Do.CREATE, "silver.chess"),
    ]


def test_two_tables_that_would_have_one_name_are_told():
    actions, (conflict,) = decided([table(), table("Uno")])
    assert [name for _, name, _ in actions] == ["silver.uno"]
    assert str(conflict) == "silver.Uno would be both file:///uno and file:///Uno"


ENTRIES = st.lists(
    st.builds(
        table,
        st.sampled_from(["a", "b", "C", "c"]),
        st.sampled_from(["silver", "gold"]),
        st.sampled_from([OURS, THEIRS, ""]),
        comment=st.sampled_from(["", "x"]),
    ),
    unique_by=lambda one: one.place,
    max_size=6,
)


@given(ENTRIES, ENTRIES, st.booleans())
def test_whatever_is_there_others_keep_theirs_and_a_second_time_nothing_is_left(
    wanted, registered, take_over
):
    wanted = [replace(one, properties={LAKE: OURS}) for one in wanted]
    there = {one.place: one for one in registered}
    found = plan(OURS, wanted, registered, {"silver", "gold"}, take_over=take_over)
    for action in found.actions:
        before = there.get(action.table.place)
        if before is not None and not (take_over and before.lake):
            assert before.lake == OURS
        if action.do is Do.DROP:
            assert there.pop(action.table.place).lake == OURS
        else:
            assert (action.do is Do.CREATE) == (before is None)
            there[action.table.place] = action.table
    again = plan(OURS, wanted, list(there.values()), {"silver", "gold"}, take_over=take_over)
    assert (again.actions, again.conflicts) == ((), found.conflicts)
    conflicting = {one.name.lower() for one in found.conflicts}
    for one in wanted:
        assert there[one.place] == one or one.full_name.lower() in conflicting
