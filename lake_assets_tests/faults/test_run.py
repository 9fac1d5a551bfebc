from faults.report import FaultRecord, VenueReport
from faults.run import failed_work
from faults.work import Done


def report(*faults):
    return VenueReport(venue="disk", dagster=False, seconds=60.0, faults=[*faults])


def test_work_that_fails_while_a_fault_is_on_or_rows_do_not_flow_yet_is_no_failure():
    fault = FaultRecord("full disk", "filled", at=10.0, ended=20.0, recovered_s=8.0)
    for at, seconds in ((5.0, 6.0), (12.0, 1.0), (25.0, 1.0), (1.0, 50.0)):
        done = [Done("maintain", at, seconds, 1, "error: full")]
        assert failed_work(done, report(fault)) == []


def test_work_that_fails_at_any_other_time_is():
    fault = FaultRecord("full disk", "filled", at=10.0, ended=20.0, recovered_s=8.0)
    done = [Done("maintain", at, 2.0, 1, "error: why") for at in (1.0, 40.0)]
    done.append(Done("refresh", 45.0, 2.0, 0, "well"))
    assert failed_work(done, report(fault)) == [
        "maintain at 1.0 s ended with 1: error: why",
        "maintain at 40.0 s ended with 1: error: why",
    ]


def test_an_erasure_that_is_not_done_yet_is_asked_for_again_and_is_no_failure():
    done = [Done("erase", 1.0, 2.0, 1, "not done yet: a batch has it")]
    assert failed_work(done, report()) == []
