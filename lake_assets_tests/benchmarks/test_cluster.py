import psutil
import pytest

from benchmarks.cluster import CLUSTER, ONE_JVM, medians_of, rows_of
from benchmarks.cluster_case import Figures, cpu_seconds, figures_of


def figures(batch_s, jvm_s=1.0, python_s=1.0):
    return Figures(batches=2, batch_s=batch_s, jvm_s=jvm_s, python_s=python_s)


def test_a_batch_lasts_from_the_end_of_the_one_before():
    found = figures_of([10.0, 11.0, 14.0, 16.0], [(1.0, 5.0), (4.0, 5.3)])
    assert found == Figures(batches=3, batch_s=2.0, jvm_s=1.0, python_s=0.1)


def test_a_process_that_is_no_jvm_is_python_and_one_that_is_gone_counts_nothing(sleeper):
    jvm, python = cpu_seconds([psutil.Process()])
    assert jvm == 0.0
    assert python > 0.0
    sleeper.kill()
    sleeper.wait()
    assert cpu_seconds([sleeper]) == (0.0, 0.0)


def test_rounds_are_told_by_their_medians():
    found = medians_of([figures(1.0, 9.0), figures(5.0, 2.0), figures(2.0, 3.0)])
    assert found == figures(2.0, 3.0)


def test_what_the_first_case_takes_is_the_measure_of_the_others():
    found = {(ONE_JVM, 1): figures(2.0), (CLUSTER, 1): figures(1.0, 2.0, 3.0)}
    first, other = rows_of(found)
    assert (first["x_batch"], first["x_cpu"], first["cpu_s"]) == (1.0, 1.0, 2.0)
    assert (other["x_batch"], other["x_cpu"], other["cpu_s"]) == pytest.approx((0.5, 2.5, 5.0))
