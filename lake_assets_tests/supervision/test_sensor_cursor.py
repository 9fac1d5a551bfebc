import pytest

from lake_assets.model.processes import ProcessId
from lake_assets.supervision.facts import Phase, RunFact
from lake_assets.supervision.sensor_cursor import Asked, Backoff, Memory, Sighting

ASKED = Asked(process=ProcessId(boot="now", pid=1, start="2"), at=3.0)
DYING = Backoff(failures=3, counted_run="a", not_before=1.5)
SEEN = Sighting(run_id="b", phase=Phase.RUNNING, since=4.0)


@pytest.mark.parametrize(
    "memory",
    [
        Memory(boot="now"),
        Memory(boot="now", backoff=DYING),
        Memory(boot="now", asked=ASKED, sightings=(SEEN,)),
    ],
)
def test_a_memory_survives_its_journey_through_a_cursor(memory):
    assert Memory.from_json(memory.to_json(), boot="now") == memory


OF_THE_FIRST_RELEASE = (
    '{"backoff": {"failures": 1, "counted_run": "a", "not_before": 1.8e9}, "asked": '
    '{"pid": 1, "process_started_at": 2.0, "at": 3.0}}'
)


@pytest.mark.parametrize(
    "text",
    [None, "", "rubbish", "[]", "{}", '{"backoff": {"failures": "x"}}', OF_THE_FIRST_RELEASE],
)
def test_a_cursor_that_says_nothing_starts_afresh(text):
    assert Memory.from_json(text, boot="now") == Memory(boot="now")


def test_a_reboot_leaves_the_count_of_deaths_and_no_times():
    before = Memory(boot="before", backoff=DYING, asked=ASKED, sightings=(SEEN,))
    found = Memory.from_json(before.to_json(), boot="now")
    assert found == Memory(boot="now", backoff=Backoff(failures=3, counted_run="a"))


def test_a_run_is_as_old_as_it_was_seen_in_its_phase():
    queued, running = (RunFact(run_id="b", phase=p) for p in (Phase.WAITING, Phase.RUNNING))
    memory = Memory().see([queued], 100).see([queued], 110)
    assert (memory.age_s("b", 115), memory.age_s("never seen", 115)) == (15, 0)
    memory = memory.see([running], 120)
    assert memory.age_s("b", 125) == 5
    assert memory.see([], 130).sightings == ()
