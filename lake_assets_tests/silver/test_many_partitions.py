import logging

import pytest

from lake_assets.delta.commit import DataFile
from lake_assets.silver.many_partitions import MANY, MOST, ManyPartitions
from lake_assets.spark.fan_out import Written
from lake_assets_tests.sample import GAMES, silver_of

UNO = silver_of("uno")

FEED = GAMES.model_copy(update={"partition_by": {"gamer_id": "gamer_id"}})


def written(values, files_each=1):
    files = [
        DataFile(path=f"{value} {number}", size=1, rows=1, stats="", partition={"gamer_id": value})
        for value in values
        for number in range(files_each)
    ]
    return {UNO: Written(files=files)}


@pytest.fixture
def told(caplog):
    caplog.set_level(logging.WARNING)
    return lambda: [record.getMessage() for record in caplog.records]


def test_many_partitions_of_a_batch_are_told_once_a_table(told):
    partitions = ManyPartitions(FEED)
    partitions.tell(written(map(str, range(MANY)), files_each=3))
    assert told() == []
    for _ in range(2):
        partitions.tell(written(map(str, range(MANY + 1))))
    (message,) = told()
    assert f"rows of {MANY + 1} partitions of silver_uno_events" in message
    assert "fewer values than gamer_id" in message


def test_a_batch_of_too_many_is_refused_and_says_what_to_do():
    partitions = ManyPartitions(FEED)
    assert partitions.problem(written(map(str, range(MOST)))) is None
    problem = partitions.problem(written(map(str, range(MOST + 1))))
    assert problem is not None
    assert "would get 10,001 files of one batch" in str(problem)
    assert "values of gamer_id; at most are 10,000" in str(problem)
    assert "rebuild silver" in str(problem)


def test_a_table_without_partitions_may_have_any_number_of_files():
    files = [DataFile(path=str(n), size=1, rows=1, stats="") for n in range(MOST + 1)]
    assert ManyPartitions(GAMES).problem({UNO: Written(files=files)}) is None
