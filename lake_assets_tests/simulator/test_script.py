from itertools import pairwise

from lake_assets.simulator.script import CHUNK, Script


def _chunks(script: Script, limit: int = 10_000) -> list[int]:
    sizes: list[int] = []
    sent = 0
    while len(sizes) < limit and (size := script.chunk(sent)):
        sizes.append(size)
        sent += size
    return sizes


def test_chunks_add_up_to_the_events():
    assert sum(_chunks(Script(events=12_345, versions=4))) == 12_345


def test_an_endless_script_goes_on():
    assert len(_chunks(Script(events=None), limit=50)) == 50


def test_a_chunk_is_never_large():
    assert max(_chunks(Script(events=100_000))) == CHUNK


def test_a_rate_makes_ten_chunks_a_second():
    assert Script(events=1000, versions=1, rate=200).chunk(0) == 20


def test_a_low_rate_sends_one_by_one():
    assert Script(events=10, versions=1, rate=0.5).chunk(0) == 1


def test_each_version_comes_up_at_its_share_of_the_run():
    script = Script(events=900, versions=3)
    assert [script.versions_at(sent) for sent in (0, 299, 300, 599, 600, 899)] == [1, 1, 2, 2, 3, 3]


def test_chunks_end_where_a_version_comes_up():
    script = Script(events=900, versions=3)
    assert _chunks(script) == [300, 300, 300]


def test_more_versions_than_events_all_come_up():
    script = Script(events=2, versions=5)
    assert sum(_chunks(script)) == 2


def test_an_endless_run_moves_on_to_its_next_version_each_minute():
    script = Script(rate=10, versions=3)
    assert [script.versions_at(sent) for sent in (0, 599, 600, 1200, 10**6)] == [1, 1, 2, 3, 3]


def test_a_burst_has_happened_by_the_time_it_is_sent():
    script = Script(events=5000)
    assert (script.spacing_s, script.lead_s) == (0.001, 5.0)


def test_a_run_at_a_rate_happens_as_it_is_sent():
    script = Script(events=5000, rate=50)
    assert (script.spacing_s, script.lead_s) == (0.02, 0.0)


def test_progress_never_goes_back_a_version():
    script = Script(events=1000, versions=7)
    reached = [script.versions_at(sent) for sent in range(1001)]
    assert all(later >= earlier for earlier, later in pairwise(reached))
    assert reached[-1] == 7
