"""A payload format with keys' own `selects` and `masks` behind it: the driver's side.

To demux it is one more format, whose columns are those of all keys' tables. Which of them a key
has is the decoder's to tell (`silver.selecting_by_key`); which keys select alike, and what all of
their tables have together, `silver.key_selections`'.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark.sql import DataFrame

from lake_assets.formats.base import Decoder
from lake_assets.formats.questions import KeptTypesQuestion, Question
from lake_assets.model.selects import ALL
from lake_assets.silver.key_masks import hidden_in_rescued, key_masks
from lake_assets.silver.key_selections import (
    KeySelection,
    brought_along,
    columns_had_before,
    copies_of,
    key_groups,
    made_columns,
    merged_outputs,
    of_payload,
    passed_on,
)
from lake_assets.silver.mask_values import Masks
from lake_assets.silver.selected_columns import merged_columns, selected
from lake_assets.silver.selected_renames import renames_of
from lake_assets.silver.selecting_by_key import KeySelect, SelectingByKeyDecoder
from lake_assets.silver.selecting_decoder import SelectingDecoder
from lake_assets.silver.selecting_format import SelectedSchemas, SelectingFormat, tell_by_spark
from lake_assets.silver.selection import Output, Selection, no_rows, select, sure_only


@dataclass(frozen=True)  # without slots, which `super()` does not go with
class SelectingByKeyFormat(SelectingFormat):
    """A `formats.base.PayloadFormat` over another one."""

    _of_keys: dict[pa.Schema, dict[tuple[str, ...], Selection]] = field(default_factory=dict)
    """By the columns that rows have before they are routed, what Spark said of keys' items."""

    def plan(self, schemas: SelectedSchemas, have: pa.Schema, route: Sequence[str]) -> Decoder:
        """What keys make of the columns that the feed's `select` makes.

        Raises:
            FeedError: an expression or a mask does not go with the columns, or two keys make
                columns of one name and two types.
            LakeError: a column does not go with what the tables have.
        """
        alone = self._alone(schemas)
        brought = brought_along(have, schemas.selected, alone) if self._grows else frozenset()
        before = columns_had_before(have, self._selections(alone, schemas), brought)
        rows = super().plan(schemas, before, route)
        assert isinstance(rows, SelectingDecoder)  # noqa: S101 - what it is made of
        known = pa.schema([*rows.columns, *rows.unused])
        # Spark was asked about the same columns already, but that tables may have another order.
        is_known = {*known} == {*alone}
        found = self._selections(alone if is_known else known, schemas, rows)
        made, unused = made_columns(self.feed, found, known, rows.unused)
        computed = {name for one in found for name, o in one.outputs.items() if o.source is None}
        masks = key_masks(self.feed, found, known, self.mask_key)
        self._note(found, rows.outputs)
        return SelectingByKeyDecoder(
            rows=replace(rows, masks=hidden_in_rescued(self.feed, masks, rows.outputs)),
            selects=tuple(
                KeySelect(outputs=one.outputs, masks=of, sql=one.sql, reads=one.reads)
                for one, of in zip(found, masks, strict=True)
            ),
            by_key={key: number for number, one in enumerate(found) for key in one.keys},
            columns=merged_columns(self.feed, have, made, computed),
            unused=pa.schema(unused),
            renames=renames_of(rows.renames, passed_on(found), known),
        )

    def made_by(self, schemas: SelectedSchemas, route: Sequence[str]) -> list[pa.Schema]:
        """What each kind of row makes, as each key selects it."""
        kinds = super().made_by(schemas, route)
        found = self._selections(self._alone(schemas), schemas)
        stored = [[*one.outputs.values()] for one in found if one.is_stored]
        return [selected(kind, outputs) for kind in kinds for outputs in stored]

    def computed(self, schemas: SelectedSchemas) -> frozenset[str]:
        """The columns that are decoded ones under their own names for no key."""
        below = super().computed(schemas)
        found = [one for one in self._selections(self._alone(schemas), schemas) if one.is_stored]
        names = {name for one in found for name in one.outputs}
        copied = {n for one in found for n, o in one.outputs.items() if o.source == n}
        return frozenset(names - (copied - below))

    @property
    def _grows(self) -> bool:
        return self.feed.payload.grows

    def _alone(self, schemas: SelectedSchemas) -> pa.Schema:
        """What rows have before they are routed, as far as it is known without the tables."""
        return pa.schema([(one.name, one.kind) for one in self._outputs(schemas)])

    def _masks(self, outputs: Sequence[Output], columns: pa.Schema) -> Masks:  # noqa: ARG002 - as its base has it
        """None before rows are routed: a key's select reads the texts themselves."""
        return Masks()

    def _tell(self, outputs: Sequence[Output]) -> None:
        """Nothing of the feed's select alone; as `_note`."""

    def _split(
        self, schemas: SelectedSchemas, questions: frozenset[Question]
    ) -> frozenset[Question]:
        kept = {one for one in questions if isinstance(one, KeptTypesQuestion)}
        if kept:
            found = self._selections(self._alone(schemas), schemas)
            names = dict.fromkeys(
                source for one in kept for name in one.columns for source in copies_of(name, found)
            )
            questions = questions - kept | {KeptTypesQuestion(tuple(names))}
        return super()._split(schemas, questions)

    def _selections(
        self,
        columns: pa.Schema,
        schemas: SelectedSchemas,
        rows: SelectingDecoder | None = None,
    ) -> list[KeySelection]:
        """What each group of keys that select alike makes; Spark is asked once about the same."""
        columns = columns.remove_metadata()
        while columns not in self._of_keys and len(self._of_keys) > 1:
            del self._of_keys[next(iter(self._of_keys))]  # with and without the tables' are asked
        known = self._of_keys.setdefault(columns, {})
        none: DataFrame | None = None
        found = []
        for group in key_groups(self.feed):
            if group.items == ALL:
                found.append(KeySelection.of_all(group, columns))
                continue
            if group.items not in known:
                renames = rows.renames if rows else None
                thing = f"selects of feed {self.feed.feed!r}, key {group.keys[0]}"
                none = no_rows(self.session, columns) if none is None else none
                known[group.items] = select(
                    self.session,
                    self.feed.feed,
                    columns,
                    group.items,
                    renames,
                    thing=thing,
                    rows=none,
                )
            selection = known[group.items]
            if schemas.is_spark_asked:
                selection = sure_only(selection)
            found.append(KeySelection.of(group, selection))
        return found

    def _note(self, found: Sequence[KeySelection], below: Sequence[Output]) -> None:
        by_key = {
            key: [of_payload(one, below) for one in selection.outputs.values()]
            for selection in found
            if selection.is_stored
            for key in (selection.keys or ("",))
        }
        self.note(merged_outputs(by_key), by_key)
        by_spark = dict.fromkeys(
            f"{one.name} of {key}" if key else one.name
            for key, outputs in by_key.items()
            for one in outputs
            if one.spark_part
        )
        tell_by_spark(self.feed, by_spark)
