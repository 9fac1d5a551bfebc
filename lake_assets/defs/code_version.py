"""Which code a run of the streams has: a deploy that changes it has the supervisor start another.

It is the run's tag. A run is outdated for those alone who loaded their code after the run was
asked for, so that nobody ends what a later deploy has started: with an old code server beside the
new one, or with code that looks different at each load, each load ends one run at most.
"""

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import dagster as dg

from lake_assets.model.feeds import Feed, supervised
from lake_assets.settings.schema import Settings

CODE = "lake_assets/code"

_SHOWN = 12
"""Characters of a digest."""


def code_version(settings: Settings, feeds: Sequence[Feed]) -> str:
    """A digest of the release, the feeds that streams run, Python beside them, and settings.

    Secrets are in none of it: one that changed is read by the next run.
    """
    declared = {
        "release": version("lake-assets"),
        "feeds": [feed.model_dump(mode="json") for feed in supervised(feeds)],
        "python": {path.name: _digest(path.read_bytes()) for path in _python(settings.feeds)},
        "settings": settings.model_dump(mode="json"),
    }
    return _digest(json.dumps(declared, sort_keys=True).encode())


def is_outdated(
    record: dg.RunRecord, code: str, repository: str | None, *, loaded_at: float
) -> bool:
    """Whether a run has other code than its code location has by now.

    Args:
        record: of the run.
        code: the version of whoever asks.
        repository: as `internals.instigators.repository_of`, of whoever asks.
        loaded_at: when that loaded its code; seconds since 1970.
    """
    run = record.dagster_run
    origin = run.remote_job_origin
    # Another code location of the same lake has its own supervisor, and is its own deploy.
    is_ours = origin is not None and origin.repository_origin.get_selector_id() == repository
    is_other = run.tags.get(CODE, code) != code
    is_older = record.create_timestamp.timestamp() < loaded_at
    return is_ours and is_other and is_older and run.status is dg.DagsterRunStatus.STARTED


def _python(folder: Path | None) -> list[Path]:
    return [] if folder is None else sorted(folder.glob("*.py"))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_SHOWN]
