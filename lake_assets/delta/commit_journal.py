"""A write-ahead note of the last batch's commits, so that a batch that runs again commits the same.

A batch is committed table by table. If the process dies in between, Spark runs the batch again; by
then a feed may have a new key or the registry a new schema, and rows would be placed differently
beside tables that already have theirs. So what is to be committed is written down first, and a
batch found in the journal is finished from it instead of being run.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.errors import LakeError
from lake_assets.model.tables import Layer, TableRef
from lake_assets.runtime.atomic_write import replace_text

_FOLDER = "journals"
"""In the state folder."""


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of one query; it holds one batch, the last that was about to be committed."""

    path: Path

    def write(self, batch: Batch, commits: Sequence[Commit], note: str = "") -> None:
        """Note a batch whose files are all written and not yet committed.

        Args:
            batch: which batch.
            commits: what is about to be committed.
            note: what else whoever finishes the batch must know.
        """
        entries = [
            {
                "layer": commit.table.layer.value,
                "name": commit.table.name,
                "files": [file.as_json for file in commit.files],
                "removed": [file.as_json for file in commit.removed],
                "info": dict(commit.info),
                "transactions": [asdict(transaction) for transaction in commit.transactions],
            }
            for commit in commits
        ]
        noted = {"batch": asdict(batch), "commits": entries, "note": note}
        replace_text(self.path, json.dumps(noted))

    def last(self) -> tuple[Batch, list[Commit]] | None:
        """The batch noted last and its commits; None if there is none.

        Raises:
            LakeError: the journal is damaged.
        """
        try:
            noted = json.loads(self.path.read_text())
            return Batch(**noted["batch"]), [_commit(entry) for entry in noted["commits"]]
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as problem:
            raise self._damaged(problem) from problem

    def note(self) -> str:
        """What was noted beside the commits of the last batch; empty if nothing was.

        Raises:
            LakeError: the journal is damaged.
        """
        try:
            return str(json.loads(self.path.read_text()).get("note", ""))
        except (OSError, ValueError, AttributeError) as problem:
            raise self._damaged(problem) from problem

    def forget(self) -> None:
        """Note no batch: the last one is undone, and is to be committed by nobody.

        Raises:
            LakeError: the folder cannot be written.
        """
        try:
            self.path.unlink(missing_ok=True)
        except OSError as problem:
            fact = f"cannot be deleted ({problem.strerror or problem})"
            raise LakeError(str(self.path), fact, "Correct the folder's permissions") from problem

    def _damaged(self, problem: Exception) -> LakeError:
        return LakeError(
            str(self.path),
            f"is damaged ({problem})",
            "Delete it: the batch that it is about is undone and runs again",
        )


def _commit(entry: dict[str, Any]) -> Commit:
    return Commit(
        table=TableRef(layer=Layer(entry["layer"]), name=entry["name"]),
        files=[DataFile(**file) for file in entry["files"]],
        removed=tuple(DataFile(**file) for file in entry["removed"]),
        info=entry["info"],
        transactions=tuple(Batch(**transaction) for transaction in entry.get("transactions", ())),
    )


def journal_of(state_dir: Path, feed: str, task: str) -> Journal:
    """The journal of a feed's stage, or of what else changes several tables at once."""
    return Journal(state_dir / _FOLDER / f"{feed}-{task}.json")


def feeds_noted(state_dir: Path, task: str) -> set[str]:
    """The feeds that have a journal of a stage, whether or not they are declared."""
    ending = f"-{task}.json"
    return {path.name.removesuffix(ending) for path in (state_dir / _FOLDER).glob(f"*{ending}")}
