"""One round of alerts: look, decide, keep, deliver. Who looks is an argument."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from lake_assets.alerts.decide import Look, Policy, Tracked, decide
from lake_assets.alerts.deliver import deliver
from lake_assets.alerts.outbox import Book, read_book, write_book
from lake_assets.alerts.sinks import open_sinks, sink_names
from lake_assets.settings.schema import Settings
from lake_assets.state.files import turn_if_free
from lake_assets.state.keep import keep_now
from lake_assets.state.lake_id import ensure_bound

Looker = Callable[[tuple[Tracked, ...]], Look]
"""Sees what is wrong; it is told which problems are open."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """What a round came to."""

    open_problems: int = 0
    complaints: tuple[str, ...] = ()
    """In words, what could not be delivered or kept."""


def go_round(settings: Settings, look: Looker, log: logging.Logger) -> Round | None:
    """Find out what is news, keep it, and deliver what waits; None if another process is at it.

    News is kept before it is delivered, so whatever is killed, it is told at least once.

    Raises:
        LakeError: the state folder cannot be written, or is another lake's.
    """
    ensure_bound(settings)
    with turn_if_free(settings.state_dir, "alerts") as is_free:
        went = _go(settings, look, log) if is_free else None
    keep_now(settings)
    return went


def _go(settings: Settings, look: Looker, log: logging.Logger) -> Round:
    state_dir, alerts = settings.state_dir, settings.alerts
    before, aside = read_book(state_dir)
    complaints = []
    if aside is not None:
        complaints.append(f"{aside}: it was no book of alerts and was put aside. Look into it")
    policy = Policy(settle_s=alerts.settle_s, waiting_after_s=alerts.waiting_after_s)
    news, tracked = decide(look(before.tracked), before.tracked, policy)
    book, lost = replace(before, tracked=tracked).post(news, sink_names(alerts))
    if lost:
        complaints.append(f"{lost} alert(s) are given up: too many wait. See the log for them")
    if book != before:
        write_book(state_dir, book)
    if book.letters:
        book, waiting = _deliver(settings, book, log)
        complaints += waiting
    return Round(
        open_problems=sum(entry.is_told for entry in book.tracked), complaints=tuple(complaints)
    )


def _deliver(settings: Settings, book: Book, log: logging.Logger) -> tuple[Book, tuple[str, ...]]:
    with open_sinks(settings, log) as sinks:
        return deliver(
            book,
            sinks,
            lambda after: write_book(settings.state_dir, after),
            timeout_s=settings.alerts.timeout_s,
        )
