"""What a refresh came to, as text from one process to another: results, or the error that ended it.

How texts get from one to the other is `streams.refresh_requests`'s.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from pydantic import TypeAdapter

from lake_assets.errors import (
    FeedError,
    LakeError,
    RegistryError,
    SourceError,
    StreamError,
    first_line,
)
from lake_assets.model.reports import CheckResult, Judged, Refreshed, RefreshReport

_KINDS = (FeedError, LakeError, StreamError, SourceError, RegistryError)
"""Errors of a refresh that have a thing, a fact and a next step. One of a kind below them becomes
that of these, any other a StreamError."""


class NotRefreshedHereError(Exception):
    """A view is suspended, or its thread ends: whoever asked for a refresh does it."""


def ask_after(
    before: Sequence[Future[Refreshed]], ask: Callable[[], Future[Refreshed]]
) -> Future[Refreshed]:
    """Ask for a refresh once others have ended well; if one of them fails, so does this."""
    if not before:
        return ask()
    answer: Future[Refreshed] = Future()
    lock, left = threading.Lock(), [len(before)]

    def ended(_: Future[Refreshed]) -> None:
        with lock:
            left[0] -= 1
            if left[0]:
                return
        problem = next((p for each in before if (p := each.exception()) is not None), None)
        if problem is None:
            ask().add_done_callback(passed_on)
        else:
            answer.set_exception(problem)

    def passed_on(done: Future[Refreshed]) -> None:
        problem = done.exception()
        if problem is None:
            answer.set_result(done.result())
        else:
            answer.set_exception(problem)

    for each in before:
        each.add_done_callback(ended)
    return answer


@dataclass(frozen=True, kw_only=True, slots=True)
class _Failure:
    kind: str
    thing: str
    fact: str
    next_step: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answer:
    reports: Sequence[RefreshReport] = ()
    judged: Sequence[Sequence[tuple[str, str, Judged]]] = ()
    """Of each report; JSON has no pairs for names."""

    silver_checks: Sequence[CheckResult] = ()
    gold_checks: Mapping[str, Sequence[CheckResult]] | None = None
    failure: _Failure | None = None


_ANSWER = TypeAdapter(_Answer)


def answer_of(done: Refreshed) -> str:
    """A refresh that ended well, as text."""
    answer = _Answer(
        reports=[replace(report, judged={}) for report in done.reports],
        judged=[
            [(key, name, judged) for (key, name), judged in report.judged.items()]
            for report in done.reports
        ],
        silver_checks=done.silver_checks,
        gold_checks=done.gold_checks,
    )
    return _ANSWER.dump_json(answer).decode()


def failure_of(problem: BaseException, what: str = "refresh") -> str:
    """A refresh that failed, as text; or what else did."""
    kind = next((kind for kind in _KINDS if isinstance(problem, kind)), None)
    if kind is None:
        failure = _Failure(
            kind=StreamError.__name__,
            thing=what,
            fact=f"failed in the process of the streams ({first_line(problem)})",
            next_step="Its log has more",
        )
    else:
        assert isinstance(problem, _KINDS)  # noqa: S101 - `kind` is one of them
        failure = _Failure(
            kind=kind.__name__,
            thing=problem.thing,
            fact=problem.fact,
            next_step=problem.next_step,
        )
    return _ANSWER.dump_json(_Answer(failure=failure)).decode()


def refreshed_of(text: str) -> Refreshed:
    """What `answer_of` wrote down; or raises what `failure_of` did.

    Raises:
        FeedError, LakeError, StreamError, SourceError, RegistryError: the refresh failed so.
        ValueError: the text is no answer.
    """
    answer = _ANSWER.validate_json(text)
    if answer.failure is not None:
        failure = answer.failure
        kind = {kind.__name__: kind for kind in _KINDS}.get(failure.kind, StreamError)
        raise kind(failure.thing, failure.fact, failure.next_step)
    reports = [
        replace(report, judged={(key, name): found for key, name, found in judged})
        for report, judged in zip(answer.reports, answer.judged, strict=True)
    ]
    return Refreshed(
        reports=reports, silver_checks=answer.silver_checks, gold_checks=answer.gold_checks or {}
    )


def merged(parts: Sequence[Refreshed]) -> Refreshed:
    """Refreshes of several views as one; a blocking check that each looked at is there once."""
    checks = {(r.key, r.name): r for part in parts for r in part.silver_checks}
    gold: dict[str, list[CheckResult]] = {}
    for part in parts:
        for view, results in part.gold_checks.items():
            gold.setdefault(view, []).extend(results)
    return Refreshed(
        reports=[report for part in parts for report in part.reports],
        silver_checks=list(checks.values()),
        gold_checks=gold,
    )
