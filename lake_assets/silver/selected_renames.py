"""Which older names selected columns had, and the fields within them, by what they are made of.

A column that is a decoded one, a field of one, or an element of an array has the values of its
older names; what is computed has none.
"""

from collections.abc import Sequence

import pyarrow as pa

from lake_assets.delta.renamed_columns import Renames
from lake_assets.silver.arrow_evaluator import Column, Node, StructField
from lake_assets.silver.explosion import Explosion
from lake_assets.silver.selection import Output

_NONE = Renames()


def renames_of(
    renames: Renames,
    outputs: Sequence[Output],
    columns: pa.Schema,
    explosion: Explosion | None = None,
) -> Renames:
    """Older names of the columns that are selected under their own, and of fields within any.

    Args:
        renames: of what they are selected of.
        outputs: what is selected.
        columns: of what.
        explosion: the array whose elements are rows.
    """
    own = {one.name for one in outputs if one.source == one.name}
    inner = _Inner(renames, columns, explosion)
    of_fields = inner.of_elements if explosion is not None and explosion.is_inline else _NONE
    own_fields = {one.name for one in outputs if one.node == Column(one.name)}
    others = {one.name for one in outputs} - own - own_fields  # no older name of anything
    now = {old: new for old, new in renames.now.items() if new in own}
    now |= {old: new for old, new in of_fields.now.items() if new in own_fields}
    within = {one.name: inner.of(one.node or Column(one.source or "")) for one in outputs}
    return Renames(
        now={old: new for old, new in now.items() if old not in others},
        within={name: found for name, found in within.items() if found},
    )


class _Inner:
    """The older names of fields within what a path of columns and fields leads to."""

    def __init__(self, renames: Renames, columns: pa.Schema, explosion: Explosion | None) -> None:
        self._renames, self._explosion = renames, explosion
        self._kinds = {one.name: one.type for one in columns}
        self._kinds |= {one.name: one.type for one in explosion.columns} if explosion else {}

    @property
    def of_elements(self) -> Renames:
        """Those within an element of the array."""
        return self.of(self._explosion.array) if self._explosion else _NONE

    def of(self, node: Node) -> Renames:
        explosion = self._explosion
        if isinstance(node, StructField):
            name = self._type(node.struct).field(node.index).name
            return self.of(node.struct).within.get(name, _NONE)
        if not isinstance(node, Column):
            return _NONE
        if explosion is None or node.name not in explosion.columns.names:
            return self._renames.within.get(node.name, _NONE)
        if not explosion.is_inline:
            return self.of_elements
        at = explosion.columns.names.index(node.name)
        element = self._type(explosion.array).value_type
        if at >= len(element):
            return _NONE  # the element's number
        return self.of_elements.within.get(element.field(at).name, _NONE)

    def _type(self, node: Node) -> pa.DataType:
        if isinstance(node, StructField):
            return self._type(node.struct).field(node.index).type
        assert isinstance(node, Column)  # noqa: S101 - `of` asks of paths alone
        return self._kinds[node.name]
