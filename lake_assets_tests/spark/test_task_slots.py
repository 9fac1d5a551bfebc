import pytest

from lake_assets.spark.task_slots import (
    is_one_jvm,
    promised_slots,
    task_slots,
    wait_for_executor,
)


@pytest.mark.spark
def test_a_laptop_waits_for_nobody(spark):
    assert is_one_jvm(spark)
    wait_for_executor(spark)
    assert task_slots(spark) == spark.sparkContext.defaultParallelism


@pytest.mark.parametrize(
    ("properties", "slots"),
    [
        ({}, 0),
        ({"spark.executor.cores": "4"}, 0),
        ({"spark.cores.max": "12", "spark.task.cpus": "2"}, 6),
        ({"spark.executor.instances": "3", "spark.executor.cores": "4"}, 12),
        ({"spark.executor.instances": "3", "spark.executor.cores": "4", "spark.task.cpus": "2"}, 6),
        ({"spark.dynamicAllocation.enabled": "true"}, 10),
        (
            {
                "spark.dynamicAllocation.enabled": "true",
                "spark.dynamicAllocation.maxExecutors": "8",
                "spark.executor.cores": "4",
            },
            32,
        ),
    ],
)
def test_work_is_cut_for_the_executors_that_may_come(properties, slots):
    assert promised_slots(properties.get, there=5) == slots
