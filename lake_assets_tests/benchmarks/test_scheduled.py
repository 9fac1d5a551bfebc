from benchmarks.scheduled import ways_of


def test_a_ticks_way_ends_with_the_last_commit_of_its_minute():
    assert ways_of([60.5, 65.0, 123.0, 59.0, 181.0], 60.0, 180.0) == [5.0, 3.0]


def test_a_minute_without_a_commit_is_no_way():
    assert ways_of([182.5], 60.0, 240.0) == [2.5]
