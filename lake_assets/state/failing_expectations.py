"""Which expectations and checks fail at present, key by key, and since when.

One small file a feed beside the tables, so that whoever refreshes gold knows what the streams
found. Whether a failure holds up a refresh is decided in `gold.quality_gate`.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lake_assets.errors import LakeError
from lake_assets.model.checks import Severity
from lake_assets.model.failures import Failing, Failures
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.runtime.file_lock import lock


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """How a key last fared with an expectation or a check."""

    key: str
    name: str
    severity: Severity | None
    """How bad it is; None if it passed."""

    words: str = ""
    version: int | None = None
    """Version of silver that a check looked at; None of an expectation, which looks at batches."""


def read_failures(state_dir: Path, feed: str) -> Failures:
    """What fails of a feed.

    Raises:
        LakeError: the file that says so is damaged.
    """
    path = _path(state_dir, feed)
    try:
        noted = json.loads(path.read_text())
        return {(_key(entry), entry.pop("name")): _failing(entry) for entry in noted}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise LakeError(
            str(path), f"is damaged ({problem})", "Delete it; the next batches write it again"
        ) from problem


def failures_of_tables(state_dir: Path, feeds: Iterable[str]) -> Failures:
    """What fails of any of the feeds that fill the same tables; the worst, where several say it.

    Raises:
        LakeError: as `read_failures`.
    """
    found: dict[tuple[str, str], Failing] = {}
    for feed in feeds:
        for key, failing in read_failures(state_dir, feed).items():
            if key not in found or failing.severity is Severity.ERROR:
                found[key] = failing
    return found


def _key(noted: dict[str, Any]) -> str:
    """Releases before called it a game."""
    key: str = noted.pop("key") if "key" in noted else noted.pop("game")
    return key


def note_verdicts(
    state_dir: Path, feed: str, verdicts: Iterable[Verdict], at: datetime
) -> Failures:
    """Take in how keys fared; what is not mentioned stays as it was. Returns what fails now.

    Several processes may call this; each change is made to the newest state.

    Raises:
        LakeError: the file is damaged.
        OSError: the disk does not take it.
    """
    path = _path(state_dir, feed)
    path.parent.mkdir(parents=True, exist_ok=True)
    with lock(path.with_suffix(".lock")):
        before = read_failures(state_dir, feed)
        after = _changed(before, verdicts, at)
        if after != before:
            entries = [
                {"key": key, "name": name, **asdict(failure), "since": failure.since.isoformat()}
                for (key, name), failure in sorted(after.items())
            ]
            replace_text(path, json.dumps(entries))
    return after


def _changed(before: Failures, verdicts: Iterable[Verdict], at: datetime) -> Failures:
    after = dict(before)
    for verdict in verdicts:
        key = (verdict.key, verdict.name)
        known = after.pop(key, None)
        if verdict.severity is not None:
            after[key] = Failing(
                since=known.since if known else at,
                severity=verdict.severity,
                words=verdict.words,
                version=verdict.version,
            )
    return after


def _failing(noted: dict[str, Any]) -> Failing:
    return Failing(
        since=datetime.fromisoformat(noted["since"]),
        severity=Severity(noted["severity"]),
        words=str(noted["words"]),
        version=noted["version"],
    )


def _path(state_dir: Path, feed: str) -> Path:
    return state_dir / "failing" / f"{feed}.json"
