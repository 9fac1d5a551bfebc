import pytest

from benchmarks.ground import check, seconds_of
from lake_assets.errors import StreamError


def test_rows_that_are_missing_are_an_error():
    check("demux", rows=5, expected=5)
    with pytest.raises(StreamError, match="bench: demux: has 4 rows of 5"):
        check("demux", rows=4, expected=5)


def rates(spark, tmp_path, sink):
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
    writer = rows.writeStream.foreachBatch(sink).trigger(once=True)
    return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start


@pytest.mark.spark
def test_a_query_is_timed_until_it_ended(spark, tmp_path):
    seen = []
    start = rates(spark, tmp_path, lambda _rows, number: seen.append(number))
    assert seconds_of(start, stop=lambda: False) > 0
    assert seen == [0]


@pytest.mark.spark
def test_a_query_that_should_be_the_last_is_finished(spark, tmp_path):
    seen = []
    start = rates(spark, tmp_path, lambda _rows, number: seen.append(number))
    with pytest.raises(KeyboardInterrupt):
        seconds_of(start, stop=lambda: True)
    assert seen == [0]


@pytest.mark.spark
def test_a_query_that_fails_is_an_error(spark, tmp_path):
    def fail(_rows, _number):
        raise StreamError("it", "broke", "Repair it")

    with pytest.raises(StreamError, match="bench: "):
        seconds_of(rates(spark, tmp_path, fail), stop=lambda: False)
