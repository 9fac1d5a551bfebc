from dataclasses import replace

from lake_assets.state.lease_rules import Lease, Take, Wait, Watched, decide

OURS = Lease(token=0, holder="us", place="here", lasts_s=30.0)
THEIRS = Lease(token=7, holder="them", place="there", beat=3, lasts_s=60.0, is_fenced=True)


def test_a_lease_that_never_was_is_taken_and_nothing_is_to_be_fenced():
    taken = replace(OURS, token=1, is_fenced=True)
    assert decide(None, OURS, None, 5.0) == Take(taken)


def test_the_holder_renews_it():
    before = replace(OURS, token=4, beat=8, is_fenced=True)
    assert decide(before, OURS, None, 5.0) == Take(replace(before, beat=9))
    owing = replace(before, is_fenced=False)
    assert decide(owing, OURS, None, 5.0) == Take(replace(owing, beat=9))


def test_what_was_given_back_is_taken_at_once_with_what_it_owes():
    for is_fenced in (True, False):
        before = replace(THEIRS, is_released=True, is_fenced=is_fenced)
        taken = replace(OURS, token=8, is_fenced=is_fenced)
        assert decide(before, OURS, None, 5.0) == Take(taken)
    own = replace(OURS, token=4, is_released=True, is_fenced=True)
    assert decide(own, OURS, None, 5.0) == Take(replace(OURS, token=5, is_fenced=True))


def test_a_holder_that_is_silent_for_as_long_as_its_lease_lasts_is_taken_for_dead():
    first = decide(THEIRS, OURS, None, 100.0)
    assert first == Wait(Watched(lease=THEIRS, since=100.0), 60.0)
    assert decide(THEIRS, OURS, first.watched, 159.0) == Wait(first.watched, 1.0)
    taken = replace(OURS, token=8, is_fenced=False)
    assert decide(THEIRS, OURS, first.watched, 160.0) == Take(taken)


def test_a_holder_that_moves_is_watched_anew():
    watched = Watched(lease=THEIRS, since=100.0)
    beating = replace(THEIRS, beat=4)
    assert decide(beating, OURS, watched, 500.0) == Wait(Watched(lease=beating, since=500.0), 60.0)
    another = replace(THEIRS, token=8, holder="others", beat=0)
    assert decide(another, OURS, watched, 500.0).watched.lease == another
