"""What follows for a feed from a `select` and a `mask` that are some keys' own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from lake_assets.model.base import KeyName
from lake_assets.model.checks import ColumnName
from lake_assets.model.routes import TableColumns
from lake_assets.model.transforms import Mask, SelectItem, generators_in

if TYPE_CHECKING:
    from lake_assets.model.gold_views import GoldView
    from lake_assets.model.keyed import Keyed

Selects = dict[KeyName, Annotated[tuple[SelectItem, ...], Field(min_length=1)]]
"""By key, what it selects."""

Masks = dict[KeyName, Annotated[dict[ColumnName, Mask], Field(min_length=1)]]
"""By key, how columns of its table are hidden."""

ALL: tuple[SelectItem, ...] = ("*",)
"""What a key selects that has no `select` of its own."""


class SelectedByKey:
    """The part of `model.feeds.Feed` that keys' own selects and masks decide."""

    if TYPE_CHECKING:
        into: str | None
        columns: TableColumns
        select: tuple[SelectItem, ...]
        mask: Mapping[str, Mask]
        selects: Selects
        masks: Masks
        keyed: Keyed | None
        gold: tuple[GoldView, ...]

        @property
        def keys(self) -> tuple[str, ...]:
            """As `model.routed.Routed` has it."""

        @property
        def creates_keys(self) -> bool:
            """Likewise."""

    @property
    def selects_by_key(self) -> bool:
        """Whether some keys' rows are computed or hidden in a way of their own."""
        return bool(self.selects or self.masks)

    @property
    def hashes(self) -> bool:
        """Whether texts of any key are hashed."""
        every = (self.mask, *self.masks.values())
        return any(Mask.HASH in mask.values() for mask in every)

    @property
    def has_other_keys(self) -> bool:
        """Whether rows may be of keys that have neither a select nor a mask of their own."""
        return self.creates_keys or not {*self.selects, *self.masks}.issuperset(self.keys)

    @property
    def all_selects(self) -> tuple[tuple[SelectItem, ...], ...]:
        """The items of the feed, and of each key that has its own."""
        return (self.select, *self.selects.values())

    def select_of(self, key: str) -> tuple[SelectItem, ...]:
        """What is selected of a key's rows, of the columns that `select` gave."""
        return self.selects.get(key, ALL)

    def ensure_selectable(self) -> None:
        """Make sure that what keys select can go beside what else is declared.

        Raises:
            ValueError: it cannot.
        """
        for name in ("selects", "masks", "layouts"):
            self._ensure_of_its_keys(name)
        for key, items in self.selects.items():
            if found := generators_in(items):
                message = f"selects: {key}: {found[0]!r} makes several rows of one, which only the "
                message += "feed's `select` can, for all keys"
                raise ValueError(message)
        if not self.selects_by_key:
            return
        told = {
            "`explode`": (generators_in(self.select), "rows of elements are told by `_element`"),
            "`columns: own`": (
                self.columns is TableColumns.OWN,
                "one of them says which columns a table has",
            ),
            "`keyed`": (
                self.keyed or any(view.keyed for view in self.gold),
                "keyed tables have all of silver's columns",
            ),
            "`into`": (self.into, "the tables are another feed's, which declares that"),
        }
        for what, (value, why) in told.items():
            if value:
                name = "selects" if self.selects else "masks"
                message = f"{name}: cannot be beside {what}, since {why}\nleave one out"
                raise ValueError(message)

    def _ensure_of_its_keys(self, name: str) -> None:
        strange = sorted({*getattr(self, name)} - {*self.keys})
        if strange and not self.creates_keys:
            keys = ", ".join(self.keys)
            message = f"{name}: {strange[0]} is no key of this feed, which has {keys}\n"
            message += "use one of those, or add it to the route's `keys`"
            raise ValueError(message)
