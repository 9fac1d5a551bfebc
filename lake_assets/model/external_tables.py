"""Tables that lie outside the lake and are others': what a feed's views may read of them.

Nothing of the lake writes to them, keeps house in them, or copies them.
"""

from typing import Annotated

from pydantic import AfterValidator

from lake_assets.model.base import Identifier, Noun
from lake_assets.model.file_places import FolderPath
from lake_assets.model.queries import SILVER, SILVER_ALL
from lake_assets.model.tables import Layer, TableRef


def _name(value: str) -> str:
    if value in {SILVER, SILVER_ALL}:
        message = f"{value!r} is what silver is called\ngive the table another name"
        raise ValueError(message)
    return value


ExternalName = Annotated[Identifier, AfterValidator(_name)]


class ExternalTable(Noun):
    """A table outside the lake."""

    delta: FolderPath
    """Folder of a Delta table, absolute, on a local or mounted disk. It is read where it is."""

    def ref(self, name: str) -> TableRef:
        """The table, as those of the lake are referred to."""
        return TableRef(layer=Layer.SILVER, name=name, outside=self.delta)
