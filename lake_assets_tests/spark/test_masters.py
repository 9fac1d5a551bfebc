import os

import pytest

from lake_assets.spark.masters import local_cores


@pytest.mark.parametrize(
    ("master", "cores"),
    [
        ("local", 1),
        ("local[3]", 3),
        ("local[3,4]", 3),
        ("local[*]", os.cpu_count()),
        ("local[*,2]", os.cpu_count()),
        ("local-cluster[2,1,1024]", None),
        ("spark://one:7077,two:7077", None),
        ("k8s://https://one:443", None),
        ("yarn", None),
    ],
)
def test_a_laptop_s_master_says_how_many_tasks_run_at_once(master, cores):
    assert local_cores(master) == cores
