"""A run of one venue: from the first server's start to the reader's count."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from faults.build import run_stack
from faults.catalog import faults_of, quick_faults, skipped
from faults.fault import Fault
from faults.journal import Acked, Reading
from faults.lake import NAMES, SUBJECT, TOPIC
from faults.load import Plan
from faults.process_faults import AbsentError
from faults.process_table import PART, SERVER
from faults.reader import Counted, Finding, count, gold_differs
from faults.report import FaultRecord, VenueReport
from faults.schedule import LONG, QUICK, Turn, turns
from faults.stack import ROOT, Asked, Log, Stack
from faults.upkeep import last_upkeep
from faults.watch import Watch
from faults.work import NOT_YET, Done, Work
from lake_assets.errors import StreamError
from lake_assets.model.endpoints import Endpoints
from lake_assets.services.registry import url_of
from lake_assets.sources.kafka.topics import ensure_topic

_FIRST_ROWS_WITHIN_S = 300.0
"""From the start of the streams."""

_RECOVERS_WITHIN_S = 300.0
"""From a fault's end to the first row that came after it: then the run has failed. Dagster's
supervisor looks every few seconds and waits longer after each death."""

_CATCHES_UP_WITHIN_S = 600.0
"""From the load's end to its last row, and from there to gold, also beside a rebuild of gold."""

_LOAD_ENDS_WITHIN_S = 240.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What a run of a venue is asked to do."""

    asked: Asked
    seconds: float
    """For which faults begin."""

    quick: bool
    rate: float
    """Events a second."""


@dataclass(slots=True)
class _Loading:
    process: "subprocess.Popen[str]"
    told: dict[str, int] = field(default_factory=dict)

    def end(self) -> None:
        """Let it send no more, and wait for the last acknowledgements."""
        self.process.send_signal(signal.SIGTERM)
        said, _ = self.process.communicate(timeout=_LOAD_ENDS_WITHIN_S)
        if self.process.returncode != 0:
            fact = f"ended with code {self.process.returncode}"
            raise StreamError("load", fact, "See load.log")
        self.told = json.loads(said)


def run_venue(run: Run, log: Log) -> VenueReport:
    """Run it, and count.

    Raises:
        LakeAssetsError: a part cannot be had or does not start, or no row comes at first.
    """
    asked = run.asked
    report = VenueReport(venue=asked.venue, dagster=asked.dagster, seconds=run.seconds)
    journal = asked.folder / "journal.jsonl"
    with run_stack(asked, log) as stack:
        watch = Watch(stack.place, NAMES, Reading(journal), log)
        with _loading(stack, run, journal) as loading:
            watch.start()
            watch.load = loading.process
            stack.start()
            _wait(lambda: watch.visible > 0, "the first rows", _FIRST_ROWS_WITHIN_S, watch)
            log("rows flow")
            work = _work_beside(stack, run, watch)
            try:
                _faults(stack, run, watch, report, log)
            finally:
                work.end()
            loading.end()
        report.sent, report.given_up = loading.told["sent"], loading.told["given_up"]
        report.skipped |= work.skipped
        _finish(stack, work, watch, report, log)
        watch.end()
        report.work = work.records()
        report.samples, report.longest_outage_s = watch.as_records(), watch.longest_outage_s()
        acked = [event for event in watch.acked if event.id not in work.doubtful]
        _count(stack, report, _counted(stack, acked, work.erased))
        report.failures += failed_work(work.done, report)
    return report


def _counted(stack: Stack, acked: Sequence[Acked], erased: Collection[str]) -> Counted:
    young = 0.0 if stack.keeps_young else None
    return count(stack.place, NAMES, acked, erased, files_younger_than=young)


@contextmanager
def _loading(stack: Stack, run: Run, journal: Path) -> Iterator[_Loading]:
    host, port = stack.addresses["broker"]
    registry = url_of(stack.addresses["registry"][1])
    ensure_topic(Endpoints(kafka=f"{host}:{port}", registry=registry), TOPIC)
    pace = 1.0 if run.quick else 4.0
    plan = Plan(
        kafka=f"{host}:{port}",
        registry=registry,
        topic=TOPIC,
        subject=SUBJECT,
        journal=journal,
        seed=run.asked.seed,
        rate=run.rate,
        key_every_s=15.0 * pace,
        most_keys=8,
        version_every_s=20.0 * pace,
        player_for_s=15.0,
    )
    with (stack.asked.folder / "load.log").open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "faults.load"],
            env={**stack.environment, PART: SERVER},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    process.stdin.write(plan.model_dump_json())
    process.stdin.close()
    process.stdin = None
    try:
        yield _Loading(process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _work_beside(stack: Stack, run: Run, watch: Watch) -> Work:
    work = Work(
        stack=stack,
        random=Random(run.asked.seed + 1),  # noqa: S311 - need not be secret
        acked=lambda: list(watch.acked),
        began=watch.began,
        pause_s=(5.0, 10.0) if run.quick else (10.0, 40.0),
    )
    work.start(once=("maintain",) if run.quick else ())
    return work


def _faults(stack: Stack, run: Run, watch: Watch, report: VenueReport, log: Log) -> None:
    known = quick_faults(stack) if run.quick else faults_of(stack)
    report.skipped |= skipped(known)
    for name, reason in report.skipped.items():
        log(f"skipped: {name}: {reason}")
    able = [fault for fault in known if fault.name not in report.skipped]
    random = Random(run.asked.seed)  # noqa: S311 - need not be secret
    ends_at = time.monotonic() + run.seconds
    for turn in turns(able, QUICK if run.quick else LONG, random):
        time.sleep(turn.quiet_s)
        if time.monotonic() > ends_at:
            return
        record = _fault(stack, turn, watch, log)
        if record is None:
            continue
        report.faults.append(record)
        if record.recovered_s is None:
            report.failures.append(
                f"after {record.name!r} no row came within {_RECOVERS_WITHIN_S:.0f} s"
            )
            return
        if run.quick and len(report.faults) == len(able):
            return


def _fault(stack: Stack, turn: Turn[Fault], watch: Watch, log: Log) -> FaultRecord | None:
    try:
        with turn.what.inject(stack, Random(turn.seed)) as what:  # noqa: S311 - as above
            at = time.time()
            log(f"fault: {what}")
            time.sleep(turn.lasts_s)
    except AbsentError as problem:
        log(f"fault: {turn.what.name}: {problem}")
        return None
    ended = time.time()
    log(f"fault: {turn.what.name} is over")
    record = FaultRecord(
        name=turn.what.name,
        what=what,
        at=round(at - watch.began, 1),
        ended=round(ended - watch.began, 1),
        recovered_s=None,
    )
    deadline = time.monotonic() + _RECOVERS_WITHIN_S
    while not watch.is_visible_after(ended):
        _ensure_watched(watch)
        if time.monotonic() > deadline:
            log(f"no row came; waited for: {watch.examples()}")
            return record
        time.sleep(0.2)
    record.recovered_s = round(time.time() - ended, 1)
    log(f"rows flow after {record.recovered_s} s")
    return record


def _finish(stack: Stack, work: Work, watch: Watch, report: VenueReport, log: Log) -> None:
    """Until silver has all and gold what silver has; then end the streams and maintain the lake.

    Erasures are finished while the streams run, who have batches in hand, and where they cannot be,
    when nobody works with the lake and upkeep has deleted what killed processes left.
    """
    work.finish_erasures()
    steps: list[tuple[str, Callable[[], bool]]] = [
        ("all rows", lambda: watch.waiting == 0),
        ("gold", lambda: not gold_differs(stack.place, NAMES)),
    ]
    for what, is_there in steps:
        try:
            _wait(is_there, what, _CATCHES_UP_WITHIN_S, watch)
            log(f"{what}: there")
        except StreamError as problem:
            report.failures.append(str(problem))
            log(str(problem))
            break
    try:
        stack.end_streams()
    except StreamError as problem:
        report.failures.append(str(problem))
    report.orphans += stack.orphans()
    log("streams ended")
    last_upkeep(stack, report)
    report.failures += work.finish_erasures()


def _wait(is_there: Callable[[], bool], what: str, within_s: float, watch: Watch) -> None:
    """Wait; what takes long to see is looked for more rarely, since streams want the machine."""
    deadline = time.monotonic() + within_s
    while True:
        began = time.monotonic()
        if is_there():
            return
        _ensure_watched(watch)
        if time.monotonic() > deadline:
            fact = f"has not come to {what} within {within_s:.0f} s ({watch.waiting} events wait: "
            raise StreamError("the lake", f"{fact}{watch.examples()})", "See the logs")
        time.sleep(max(0.5, time.monotonic() - began))


def _ensure_watched(watch: Watch) -> None:
    if watch.failure is not None:
        raise watch.failure
    if watch.load is not None and watch.load.poll() not in {None, 0}:
        raise StreamError("load", f"ended with code {watch.load.returncode}", "See load.log")


def failed_work(done: Iterable[Done], report: VenueReport) -> list[str]:
    """Work that failed while no fault was on or had just been."""
    failed = []
    for one in done:
        hindered = any(
            fault.at - 1 < one.at + one.seconds
            and one.at < fault.ended + (fault.recovered_s or 0) + 5
            for fault in report.faults
        )
        is_asked_again = one.said.startswith(NOT_YET)
        if one.has_failed and not hindered and not is_asked_again:
            failed.append(f"{one.kind} at {one.at} s ended with {one.status}: {one.said}")
    return failed


def _count(stack: Stack, report: VenueReport, counted: Counted) -> None:
    report.acked, report.silver = counted.acked, counted.silver
    report.quarantine, report.erased = counted.quarantine, counted.erased
    report.gold_rows, report.files = counted.gold_rows, counted.files
    report.young_files = counted.young_files
    report.findings = counted.findings
    for finding in counted.findings:
        stack.log(f"FOUND: {_in_words(finding)}")


def _in_words(finding: Finding) -> str:
    return f"{finding.kind}: {finding.count}, such as {'; '.join(finding.examples)}"
