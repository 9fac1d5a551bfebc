"""What a file in a lake says while a backup is put there, for whoever goes on after a kill."""

import json

from pydantic import BaseModel, ValidationError

from lake_assets.backup.obey import Obeyed
from lake_assets.backup.restored_tables import RestoredTables
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.state.lake_id import RESTORING


class RestoreMark(BaseModel, frozen=True):
    """What the file in the lake says."""

    place: str
    number: int
    erasures: tuple[str, ...] = ()
    """Ids of those that are to hold in the tables."""

    obeyed: Obeyed = Obeyed()
    """What was done for that, once all has been copied."""

    is_copied: bool = False
    """Whether all has been copied, and has no rows that are erased, so that tables change places.
    """

    is_placed: bool = False
    """Whether they have."""

    def is_as(self, other: "RestoreMark") -> bool:
        """Whether it is of the same backup, with the same erasures."""
        return (self.place, self.number, self.erasures) == (
            other.place,
            other.number,
            other.erasures,
        )


def left_mark(tables: RestoredTables, lake: LakeUri) -> RestoreMark | None:
    """What a restore that was cut off noted."""
    noted = tables.mark()
    if noted is None:
        return None
    try:
        return RestoreMark.model_validate_json(noted)
    except ValidationError as problem:
        fact = f"is damaged ({json.dumps(str(problem).splitlines()[0])})"
        step = "Delete it and the lake's tables, then restore again"
        raise LakeError(f"{lake}/{RESTORING}", fact, step) from problem
