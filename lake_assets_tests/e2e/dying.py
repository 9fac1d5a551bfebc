"""A committer that goes down in the midst of a batch, as its process would."""

from lake_assets.delta.committer import Committer
from lake_assets.model.tables import Layer
from lake_assets_tests.long_parameters import with_long

POINTS = ("before", "half", "last")
"""Of a batch's commits."""

EACH_POINT = with_long(POINTS, long=["before", "last"])
"""Parameters of a test that takes seconds for each: all of them at night."""


class KilledError(Exception):
    """Stands for the end of a process in the midst of a batch."""


class Doomed(Committer):
    """A committer that goes down with the first batch that it is given rows of."""

    point = "before"
    spared = None
    """Layer whose commits are made, beside those of logs, which come before a batch's."""

    def append(self, commits, batch):
        if any(commit.table.layer in {self.spared, Layer.LOG} for commit in commits):
            return super().append(commits, batch)
        is_batch = "redo" not in batch.app_id and any(commit.files for commit in commits)
        is_last = any(commit.table.layer is Layer.QUARANTINE for commit in commits)
        if is_batch and self.point == "before":
            raise KilledError
        if is_batch and self.point == "half" and not is_last:
            super().append(commits[: len(commits) // 2], batch)
            raise KilledError
        if is_last and self.point == "last":
            raise KilledError
        return super().append(commits, batch)


def doomed(point, spared=None):
    return type("DoomedAt", (Doomed,), {"point": point, "spared": spared})
