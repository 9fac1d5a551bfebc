import pytest

from lake_assets.bronze.batch_range import batch_range
from lake_assets.errors import PoisonedBatchError, SourceError
from lake_assets.model.reports import Stage
from lake_assets.model.without_silver import Silver
from lake_assets.state.batch_strikes import BatchRange, read_strikes
from lake_assets.streams.batch_attempts import BatchAttempts, poisoned_batches
from lake_assets_tests.places import t
from lake_assets_tests.programs import run_program
from lake_assets_tests.sample import GAMES

_DIES = """
import os, sys
from pathlib import Path
from lake_assets.model.reports import Stage
from lake_assets.state.batch_strikes import BatchRange
from lake_assets.streams.batch_attempts import BatchAttempts
batch = BatchRange(begin=sys.argv[2], end="9", words="some")
with BatchAttempts(state_dir=Path(sys.argv[1]), feed="games", stage=Stage.DEMUX).attempt(batch):
    os._exit(0)
"""


def batch(begin="3", end="9"):
    return BatchRange(begin=begin, end=end, words=f"versions {begin} to {end}")


@pytest.fixture
def begin(tmp_path):
    """As a process that has just started counts."""

    def attempts():
        return BatchAttempts(state_dir=tmp_path, feed="games", stage=Stage.DEMUX)

    return attempts


@pytest.fixture
def die(tmp_path):
    def at(where):
        run_program(_DIES, [str(tmp_path), where])

    return at


def fail(attempts, problem=None, of=None):
    with pytest.raises(Exception) as told, attempts.attempt(of or batch()):  # noqa: PT011
        raise problem or ValueError("bad row")
    return told.value


def test_a_batch_that_fails_three_times_is_poisoned_with_its_range_and_cause(begin):
    attempts = begin()
    assert [type(fail(attempts)) for _ in range(2)] == [ValueError, ValueError]
    poisoned = fail(attempts)
    assert isinstance(poisoned, PoisonedBatchError)
    assert str(poisoned).startswith(
        "demux of feed 'games': failed 3 times at the same batch (versions 3 to 9): bad row. Repair"
    )
    assert "--skip-batch" in str(poisoned)


def test_restarts_do_not_begin_the_count_again(begin):
    fail(begin())
    fail(begin())
    assert isinstance(fail(begin()), PoisonedBatchError)


def test_a_start_tries_a_poisoned_batch_once_since_the_cause_may_be_repaired(begin):
    for _ in range(3):
        fail(begin())
    assert isinstance(fail(begin()), PoisonedBatchError)
    attempts = begin()
    with attempts.attempt(batch()):
        pass
    assert not attempts.file.exists()
    assert [type(fail(attempts)) for _ in range(2)] == [ValueError, ValueError]


def test_another_batch_has_a_count_of_its_own(begin):
    attempts = begin()
    fail(attempts)
    fail(attempts)
    with attempts.attempt(batch("5")):
        pass
    assert isinstance(fail(attempts), ValueError)


def test_what_is_around_a_batch_is_no_failure_of_it_and_does_not_end_the_count(begin):
    attempts = begin()
    fail(attempts)
    for _ in range(5):
        assert isinstance(fail(attempts, SourceError("t", "no", "Wait")), SourceError)
    fail(attempts)
    assert isinstance(fail(attempts), PoisonedBatchError)


def test_one_death_is_anybody_s_and_three_at_the_same_batch_are_the_batch_s(begin, die):
    die("3")
    attempts = begin()
    assert read_strikes(attempts.file).deaths == 1
    with attempts.attempt(batch()):
        pass
    for _ in range(3):
        die("3")
    attempts = begin()
    died = pytest.raises(PoisonedBatchError, match="the process of the streams died")
    with died, attempts.attempt(batch()):
        pytest.fail("it was tried")


def test_deaths_at_several_batches_are_no_poison(begin, die):
    for where in ("1", "2", "3"):
        die(where)
    with begin().attempt(batch()):
        pass


def test_being_told_to_end_is_no_failure(begin):
    attempts = begin()
    with pytest.raises(KeyboardInterrupt), attempts.attempt(batch()):
        raise KeyboardInterrupt
    assert (attempts.counted, read_strikes(begin().file).count) == (0, 0)


def test_nothing_is_kept_of_batches_that_went_well(begin):
    attempts = begin()
    for number in "345":
        with attempts.attempt(batch(number)):
            pass
    assert not attempts.file.exists()


def test_batches_are_to_be_small_up_to_the_end_of_one_that_failed(begin):
    attempts = begin()
    assert attempts.small_until == ""
    fail(attempts)
    with attempts.attempt(batch("3", "3")):
        pass
    assert attempts.small_until == begin().small_until == "9"
    fail(attempts, of=batch("4", "4"))
    assert begin().small_until == "9"


def test_failures_that_were_counted_are_told_apart_from_others(begin):
    attempts = begin()
    fail(attempts, SourceError("t", "no", "Wait"))
    assert attempts.counted == 0
    fail(attempts)
    assert attempts.counted == 1


def test_batches_are_as_large_as_ever_once_the_end_of_the_failed_one_is_done(begin):
    attempts = begin()
    fail(attempts)
    for number in ("3", "9"):
        with attempts.attempt(batch(number, number)):
            pass
    assert attempts.small_until == begin().small_until == ""
    assert not attempts.file.exists()


def test_ingest_s_batches_are_larger_again_once_every_partition_is_past_the_failed_one(tmp_path):
    def of(before, reached):
        return batch_range(t(before), t(reached))

    attempts = BatchAttempts(state_dir=tmp_path, feed="games", stage=Stage.INGEST)
    fail(attempts, of=of({0: 1, 1: 1}, {0: 5, 1: 3}))
    with attempts.attempt(of({0: 1, 1: 1}, {0: 9, 1: 2})):
        pass
    assert attempts.small_until
    with attempts.attempt(of({0: 9, 1: 2}, {0: 9, 1: 3, 2: 1})):
        pass
    assert attempts.small_until == ""


def test_what_fails_after_the_batch_is_in_its_table_is_no_failure_of_it(begin):
    attempts = begin()
    fail(attempts)

    def fail_later():
        with attempts.attempt(batch("9", "9")):
            attempts.settle()
            raise ValueError("later")

    with pytest.raises(ValueError, match="later"):
        fail_later()
    assert attempts.counted == 1
    assert not attempts.file.exists()


def test_a_process_that_is_killed_after_it_was_asked_to_end_was_not_killed_by_its_batch(begin):
    attempts = begin()
    fail(attempts)
    with attempts.attempt(batch()):
        assert read_strikes(attempts.file).is_running
        attempts.end()
        found = read_strikes(begin().file)
        assert (found.errors, found.deaths) == (1, 0)


def test_a_feed_that_has_no_silver_any_more_stands_still_at_no_batch_of_demux(tmp_path, begin):
    attempts = begin()
    for _ in range(3):
        fail(attempts)
    assert len(poisoned_batches(tmp_path, GAMES)) == 1
    without = GAMES.model_copy(update={"silver": Silver.NONE})
    assert poisoned_batches(tmp_path, without) == []
    ingest = BatchAttempts(state_dir=tmp_path, feed="games", stage=Stage.INGEST)
    for _ in range(3):
        fail(ingest)
    assert len(poisoned_batches(tmp_path, without)) == 1
