import pytest

from lake_assets.supervision.memory import Asked, Backoff, Memory


@pytest.mark.parametrize(
    "memory",
    [
        Memory(),
        Memory(backoff=Backoff(failures=3, counted_run="a", not_before=1.5)),
        Memory(asked=Asked(pid=1, process_started_at=2.0, at=3.0)),
    ],
)
def test_a_memory_survives_its_journey_through_a_cursor(memory):
    assert Memory.from_json(memory.to_json()) == memory


@pytest.mark.parametrize("text", [None, "", "rubbish", "[]", "{}", '{"backoff": {"x": 1}}'])
def test_a_cursor_that_says_nothing_starts_afresh(text):
    assert Memory.from_json(text) == Memory()
