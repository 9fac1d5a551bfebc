"""What a table's log tells of the versions since one that it is to be put back to. Reads only."""

from collections.abc import Mapping

from lake_assets.delta.commit import ERASED, RETENTION, TABLE_ID
from lake_assets.delta.log_tail import actions_of, info_at
from lake_assets.delta.restores import is_restore
from lake_assets.delta.source_offsets import recorded_offsets
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import LakeError


def ensure_unmoved(log: TableLog, name: str, after: int, newest: int, step: str) -> None:
    """Make sure that no row left for another table since a version; others' deletes are no matter.

    Raises:
        LakeError: some may have, or nothing tells.
    """
    for version in range(newest, after, -1):
        try:
            actions = list(actions_of(log, version))
        except FileNotFoundError as problem:
            fact = f"has forgotten what its version {version} did"
            raise LakeError(name, fact, step) from problem
        infos = [told for kind, told in actions if kind == "commitInfo"]
        is_ours = any(
            TABLE_ID in info and RETENTION not in info and not is_restore(info) for info in infos
        )
        if any(ERASED in info for info in infos):
            fact = f"had rows erased in its version {version}, which would come back"
            raise LakeError(name, fact, "Name a later version")
        is_change = any(kind == "remove" and a.get("dataChange", True) for kind, a in actions)
        if is_change and is_ours:
            fact = f"had rows moved or rewritten in its version {version} (a requeue, a rebuild, "
            fact += "a wider type or a batch that was undone): they would be in two tables"
            raise LakeError(name, fact, f"Name a later version; or {lowered(step)}")


def sources_since(log: TableLog, kind: str, after: int, newest: int) -> set[str]:
    """Names of the sources that a table got rows of in the versions above `after`."""
    names = set()
    for version in range(after + 1, newest + 1):
        marks = {a["appId"]: a["version"] for what, a in actions_of(log, version) if what == "txn"}
        names |= {name for name, _ in recorded_offsets(marks, kind)}
    return names


def info_of(log: TableLog, version: int) -> Mapping[str, str]:
    """What a version's commit tells of itself; nothing if the log has forgotten it."""
    try:
        return info_at(log, version)
    except FileNotFoundError:
        return {}


def lowered(sentence: str) -> str:
    """A sentence as the second half of one."""
    return sentence[0].lower() + sentence[1:]
