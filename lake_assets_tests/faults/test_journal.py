from faults.journal import Acked, Reading, append

EVENTS = [Acked(1.5, "t", 0, n, f"e{n}", "uno", "ann") for n in range(3)]


def test_a_journal_is_read_on_as_it_grows_and_a_half_line_waits(tmp_path):
    path = tmp_path / "journal"
    reading = Reading(path)
    assert reading.more() == []
    with path.open("a") as file:
        append(file, EVENTS[:2])
        assert reading.more() == EVENTS[:2]
        file.write('[1.5, "t", 0, 2, ')
        file.flush()
        assert reading.more() == []
        file.write('"e2", "uno", "ann"]\n')
        file.flush()
    assert reading.more() == EVENTS[2:]
    assert reading.more() == []
