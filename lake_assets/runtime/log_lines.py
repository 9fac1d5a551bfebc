"""Lines that a process logs on standard error: words for people, or a JSON object a line.

Modules log through `logging`, with facts in `extra={"table": …}`; what they are about (feed, stage,
batch, view, sink) is said once, by `about`, for all that a thread logs meanwhile. structlog makes
the lines. Loggers of other packages are left alone.
"""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from lake_assets.settings.upkeep import LogFormat

OURS = "lake_assets"
"""The logger above all of this package's."""

_FACTS = ("feed", "stage", "batch", "view", "sink", "table")
"""In this order, in a line for people."""


def about(**facts: str | int) -> AbstractContextManager[object]:
    """Give what this thread logs in the block these facts, such as `feed` and `batch`."""
    return structlog.contextvars.bound_contextvars(**facts)


@contextmanager
def log_lines(form: LogFormat) -> Iterator[None]:
    """Have this process log in that form until the end of the block."""
    logger, handler = logging.getLogger(OURS), _Handler()
    handler.setFormatter(_formatter(form))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


class _Handler(logging.StreamHandler[TextIO]):
    """Writes to what standard error is at the moment."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override] # as logging's own last resort does it
        return sys.stderr


def _formatter(form: LogFormat) -> logging.Formatter:
    facts: list[Processor] = [
        structlog.stdlib.ExtraAdder(),
        structlog.contextvars.merge_contextvars,
    ]
    if form is LogFormat.JSON:
        facts += [
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ]
        last: list[Processor] = [
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("message"),
            structlog.processors.JSONRenderer(default=str, ensure_ascii=False),
        ]
    else:
        facts += [structlog.stdlib.add_log_level]
        last = [structlog.processors.format_exc_info, _in_words]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=facts,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )


def _in_words(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """`warning: what happened (feed games, batch 3)`; what is no trouble is said without facts."""
    text, level = str(event["event"]), str(event["level"])
    if level != "info":
        found = _facts_of(event)
        text = f"{level}: {text}" + (f" ({found})" if found else "")
    trace = event.get("exception")
    return f"{text}\n{trace}" if trace else text


def _facts_of(event: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {event[name]}" for name in _FACTS if name in event)
