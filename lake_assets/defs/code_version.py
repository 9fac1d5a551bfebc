"""Which code a run of the streams has: a deploy that changes it has the supervisor start another.

It is the run's tag. A run is outdated for those alone who loaded their code after the run was
asked for, so that nobody ends what a later deploy has started: with an old code server beside the
new one, or with code that looks different at each load, each load ends one run at most.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
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
        "python": _python(settings.feeds),
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Asker:
    """Whose code that of a run is compared with."""

    code: str
    repository: str | None
    """As `internals.instigators.repository_of`."""

    loaded_at: float
    """When it loaded its code; seconds since 1970."""

    def is_newer_than(self, record: dg.RunRecord) -> bool:
        """Whether a run has other code than its code location has by now, as this one has it."""
        return is_outdated(record, self.code, self.repository, loaded_at=self.loaded_at)


NOBODY = Asker(code="", repository=None, loaded_at=0.0)
"""Compares with nothing: each run is newer."""


def _python(folder: Path | None) -> dict[str, str]:
    """By name a digest of each module beside the feeds, and of those of packages there."""
    if folder is None:
        return {}
    packages = [path.parent for path in folder.glob("*/__init__.py")]
    found = [*folder.glob("*.py"), *(path for one in packages for path in one.rglob("*.py"))]
    # Editors lock what is open by a hidden link that leads nowhere.
    modules = [path for path in found if not path.name.startswith(".") and path.is_file()]
    return {path.relative_to(folder).as_posix(): _digest(path.read_bytes()) for path in modules}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_SHOWN]
