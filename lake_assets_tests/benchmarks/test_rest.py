from benchmarks.rest import Case

BOUND = Case(latency_s=0.1, rows_per_call=10, partitions=4, calls_in_flight=2)
UNBOUND = Case(latency_s=0.0, rows_per_call=10, partitions=8, rows=100_000)


def test_a_case_takes_the_seconds_that_were_asked_for():
    assert BOUND.bound == 800
    assert BOUND.rows_in(3) == 2400
    assert UNBOUND.rows_in(3) == 15_000


def test_no_case_takes_more_than_twenty_seconds():
    assert BOUND.rows_in(60) == 16_000
    assert UNBOUND.rows_in(60) == 100_000
