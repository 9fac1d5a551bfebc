from dataclasses import replace

import pytest

from lake_assets.state.binding import Bind, Bound, Facts, Place, Record, Refuse, Side, decide

LAKE, OTHER_LAKE = (Place(path=p, device=1, inode=n) for p, n in (("/lake", 1), ("/other", 2)))
INSIDE = Place(path="/lake/_lake_assets", device=1, inode=3)
VOLUME, OTHER_VOLUME = (Place(path=p, device=2, inode=n) for p, n in (("/vol", 4), ("/vol2", 5)))
MISSING = Place(path="/vol", device=0, inode=0)


def record(id_="a", lake=LAKE, state=INSIDE, replaces=None):
    return Record(id=id_, lake=lake, state=state, replaces=replaces)


def facts(of_lake=None, of_state=None, *, lake=LAKE, state=INSIDE, **more):
    return Facts(
        lake=Side(place=lake, record=of_lake),
        state=Side(place=state, record=of_state),
        usual=Place(path=f"{lake.path}/_lake_assets", device=1, inode=3),
        **{
            "is_left_in_lake": False,
            "lake_twin": False,
            "state_twin": False,
            "former": (),
            "new_id": "new",
            **more,
        },
    )


@pytest.mark.parametrize("state", [INSIDE, VOLUME, MISSING])
def test_a_new_pair_is_bound(state):
    assert decide(facts(state=state)) == Bind("new")


@pytest.mark.parametrize("state", [INSIDE, VOLUME])
def test_a_pair_that_says_so_on_both_sides_is_bound(state):
    both = record(state=state)
    assert decide(facts(both, both, state=state)) == Bound("a")


@pytest.mark.parametrize("state", [INSIDE, VOLUME])
def test_a_state_of_another_lake_is_refused_wherever_it_lies(state):
    theirs = record("b", OTHER_LAKE, OTHER_VOLUME)
    refusal = decide(facts(record(state=state), theirs, state=state))
    assert refusal.why == f"it is the state of /other, and this lake's is {state.path}"
    assert ("Delete /lake/_lake_assets" in refusal.next_step) is (state == INSIDE)


@pytest.mark.parametrize("side", ["lake", "state"])
def test_a_pair_of_which_one_was_moved_says_so_again(side):
    old = Place(path="/before", device=9, inode=9)
    before = record(lake=old if side == "lake" else LAKE, state=VOLUME if side == "lake" else old)
    assert decide(facts(before, before, state=VOLUME)) == Bind("a")


@pytest.mark.parametrize("here", [replace(LAKE, inode=77), replace(LAKE, path="/renamed")])
def test_a_folder_is_the_same_that_has_its_path_or_its_number_and_is_noted_again(here):
    both = record(state=VOLUME)
    assert here.is_same(LAKE)
    assert decide(facts(both, both, lake=here, state=VOLUME)) == Bind("a")


def test_folders_that_are_not_there_are_not_the_same():
    assert not MISSING.is_same(replace(MISSING, path="/elsewhere"))


def test_a_copy_of_a_lake_with_its_state_is_a_lake_of_its_own():
    both, copy = record(), Place(path="/copy", device=1, inode=8)
    inside = Place(path="/copy/_lake_assets", device=1, inode=9)
    assert decide(facts(both, both, lake=copy, state=inside, lake_twin=True)) == Bind("new")


def test_a_copy_of_a_lake_does_not_get_the_state_of_the_original():
    both, copy = record(state=VOLUME), Place(path="/copy", device=1, inode=8)
    refusal = decide(facts(both, both, lake=copy, state=VOLUME, lake_twin=True))
    assert refusal.why == "this lake and /lake, whose state it is, are copies of one another"


def test_a_copy_of_a_state_is_refused_while_the_original_is_there():
    both = record(state=VOLUME)
    refusal = decide(facts(both, both, state=OTHER_VOLUME, state_twin=True))
    assert refusal.why == "it is a copy of /vol, which is this lake's state still"
    assert decide(facts(both, both, state=OTHER_VOLUME)) == Bind("a")


def test_a_state_that_was_lost_with_its_folder_in_the_lake_is_made_again():
    assert decide(facts(record(), None)) == Bind("a")
    assert decide(facts(record(), None, state=VOLUME)) == Bind("a")


def test_a_state_elsewhere_that_is_not_there_may_only_not_be_mounted():
    refusal = decide(facts(record(state=VOLUME), None, state=replace(VOLUME, inode=6)))
    assert refusal.why == "this lake's state is /vol, which is not here or has lost its id"
    assert "if it is lost for good, delete /lake/_lake.json" in refusal.next_step


def test_a_state_on_a_disk_of_its_own_in_the_lake_may_only_not_be_mounted():
    both = record(state=replace(INSIDE, device=2))
    for state in (INSIDE, VOLUME, replace(INSIDE, device=0, inode=0)):
        refusal = decide(facts(both, None, state=state))
        assert refusal.why.startswith("this lake's state is /lake/_lake_assets, which is not here")
    assert decide(facts(both, both, state=both.state)) == Bound("a")


def test_a_state_elsewhere_that_lost_its_record_alone_gets_it_again():
    assert decide(facts(record(state=VOLUME), None, state=VOLUME)) == Bind("a")


def test_an_empty_state_is_not_taken_while_the_lake_s_own_is_there():
    for state in (INSIDE, OTHER_VOLUME):
        refusal = decide(facts(record(state=VOLUME), None, state=state, state_twin=True))
        assert refusal.why == "this lake's state is /vol"


def test_a_copy_of_a_lake_without_its_state_begins_its_own():
    copy = Place(path="/copy", device=1, inode=8)
    for state in (VOLUME, replace(INSIDE, path="/copy/_lake_assets")):
        found = facts(record(), None, lake=copy, state=state, lake_twin=True, state_twin=True)
        assert decide(found) == Bind("new")


@pytest.mark.parametrize("state", [INSIDE, VOLUME])
def test_what_died_before_the_lake_s_side_was_written_is_finished(state):
    assert decide(facts(None, record(state=state), state=state)) == Bind("a")


def test_what_died_while_a_copy_got_its_own_id_is_finished():
    before, after = record(lake=OTHER_LAKE), record("b", replaces="a")
    assert decide(facts(before, after)) == Bind("b")
    assert decide(facts(record("b"), after)) == Bind("b")
    assert isinstance(decide(facts(record("c"), after)), Refuse)


def test_a_lake_without_an_id_does_not_get_another_one_s_state():
    for state in (INSIDE, VOLUME):
        refusal = decide(facts(None, record(lake=OTHER_LAKE, state=state), state=state))
        assert refusal.why == "it is the state of /other"
        assert f"delete {state.path}/lake.json" in refusal.next_step


def test_a_lake_that_was_made_again_does_not_get_the_state_of_the_one_before():
    before = record(lake=replace(LAKE, inode=77), state=VOLUME)
    assert decide(facts(None, before, state=VOLUME)).why == "it is the state of what was at /lake"
    assert decide(facts(None, replace(before, state=INSIDE))) == Bind("a")


def test_a_state_folder_of_an_older_release_is_the_lake_s_if_it_lies_in_it():
    assert decide(facts(former=(("old", OTHER_VOLUME), ("mine", INSIDE)))) == Bind("mine")
    assert decide(facts(former=(("old", OTHER_VOLUME),))) == Bind("new")


def test_one_that_was_moved_is_known_by_where_it_was():
    assert decide(facts(state=VOLUME, former=(("mine", INSIDE),))) == Bind("mine")
    refusal = decide(facts(state=VOLUME, former=(("old", OTHER_VOLUME),)))
    assert refusal.why == "it was /vol2, the state of another lake"


@pytest.mark.parametrize("of_lake", [None, record()])
def test_a_state_that_was_left_in_the_lake_is_to_be_moved_first(of_lake):
    refusal = decide(facts(of_lake, state=VOLUME, is_left_in_lake=True))
    assert refusal.why == "this lake's state is /lake/_lake_assets so far"
    assert "move that folder to /vol, or delete it" in refusal.next_step


def damaged(found, side):
    broken = replace(getattr(found, side), record=None, is_damaged=True)
    return decide(replace(found, **{side: broken}))


def test_half_a_record_of_the_lake_is_repaired_only_if_the_state_vouches_for_it():
    both = record(state=VOLUME)
    assert damaged(facts(both, both, state=VOLUME), "lake") == Bind("a")
    assert "_lake.json is damaged" in damaged(facts(both, None, state=VOLUME), "lake").why
    other = facts(both, record("b", OTHER_LAKE), state=VOLUME)
    assert "_lake.json is damaged" in damaged(other, "lake").why


def test_half_a_record_of_the_state_is_repaired_only_if_the_lake_vouches_for_it():
    both = record(state=VOLUME)
    assert damaged(facts(both, both, state=VOLUME), "state") == Bind("a")
    assert damaged(facts(record(), None), "state") == Bind("a")
    assert damaged(facts(), "state") == Bind("new")
    assert "/vol/lake.json is damaged" in damaged(facts(state=VOLUME), "state").why
    assert isinstance(damaged(facts(both, both, state=OTHER_VOLUME), "state"), Refuse)
