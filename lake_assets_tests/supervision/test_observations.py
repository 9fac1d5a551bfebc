from lake_assets.supervision.observations import RAREST_S, ObserverMemory

NEW = ObserverMemory(boot="now")


def test_what_changes_is_told_at_once_and_what_does_not_now_and_then():
    memory = NEW.tell("bronze", "lag 5", 100.0)
    assert NEW.is_due("bronze", "lag 5", 100.0)
    assert memory.is_due("bronze", "lag 6", 100.1)
    assert not memory.is_due("bronze", "lag 5", 100.0 + RAREST_S - 1)
    assert memory.is_due("bronze", "lag 5", 100.0 + RAREST_S)
    assert not memory.is_due("bronze", "lag 5", 100.0 + RAREST_S, is_repeated=False)


def test_a_source_is_asked_every_so_often():
    assert NEW.is_look_due("games", 0.0, 60.0)
    memory = NEW.looked("games", 100.0, ((100.0, 5),), 1.5)
    assert (memory.lag_s("games"), memory.lag_s("other")) == (1.5, None)
    assert not memory.is_look_due("games", 159.0, 60.0)
    assert memory.is_look_due("games", 160.0, 60.0)
    assert memory.looked("games", 160.0, (), None).lag_s("games") is None


def test_a_state_counts_from_when_it_was_seen_first():
    memory, for_s = NEW.stands("games", "running", 100.0)
    assert for_s == 0.0
    again, for_s = memory.stands("games", "running", 130.0)
    assert (again, for_s) == (memory, 30.0)
    assert memory.stands("games", "stopped", 130.0)[1] == 0.0


def test_a_memory_is_carried_as_text_within_one_boot():
    memory = NEW.tell("bronze", "a", 1.0).looked("games", 2.0, ((2.0, 5), (3.0, 9)), 4.0)
    memory, _ = memory.stands("games", "running", 3.0)
    assert ObserverMemory.from_json(memory.to_json(), boot="now") == memory
    fresh = ObserverMemory(boot="later")
    assert ObserverMemory.from_json(memory.to_json(), boot="later") == fresh
    assert ObserverMemory.from_json("torn {", boot="later") == fresh
    assert ObserverMemory.from_json(None, boot="later") == fresh
