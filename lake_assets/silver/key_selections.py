"""What keys' own selects make together: which keys select alike, and the columns of all."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lake_assets.errors import FeedError
from lake_assets.formats.schema_merge import in_words
from lake_assets.model.feeds import Feed
from lake_assets.model.selects import ALL
from lake_assets.model.transforms import Mask
from lake_assets.silver.selection import Output, Selection, has_star


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyGroup:
    """Keys that select and hide alike."""

    keys: tuple[str, ...]
    """Those that say so; none of the group of all others."""

    items: tuple[str, ...]
    masks: Mapping[str, Mask]
    """Their own, beside the feed's."""

    is_stored: bool = True
    """Whether there may be rows of such keys."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeySelection:
    """What one group's items make of rows."""

    keys: tuple[str, ...]
    masks: Mapping[str, Mask]
    is_stored: bool
    has_star: bool
    outputs: Mapping[str, Output]
    sql: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()

    @classmethod
    def of(cls, group: KeyGroup, selection: Selection) -> "KeySelection":
        """As Spark said."""
        return cls(
            keys=group.keys,
            masks=group.masks,
            is_stored=group.is_stored,
            has_star=has_star(group.items),
            outputs={one.name: one for one in selection.outputs},
            sql=selection.sql,
            reads=selection.reads,
        )

    @classmethod
    def of_all(cls, group: KeyGroup, columns: pa.Schema) -> "KeySelection":
        """Of a group that selects all columns as they are."""
        outputs = {
            one.name: Output(
                name=one.name,
                kind=one.type,
                source=one.name,
                reads=(one.name,),
                needs=(one.name,),
                is_null_with_any=True,
            )
            for one in columns
        }
        return cls(
            keys=group.keys,
            masks=group.masks,
            is_stored=group.is_stored,
            has_star=True,
            outputs=outputs,
        )

    @property
    def whose(self) -> str:
        """Its first key, in words."""
        return self.keys[0] if self.keys else "other keys"


def key_groups(feed: Feed) -> list[KeyGroup]:
    """A feed's keys by what they select and hide; the first are those that say nothing."""
    groups = [KeyGroup(keys=(), items=ALL, masks={}, is_stored=feed.has_other_keys)]
    alike: dict[tuple[tuple[str, ...], frozenset[tuple[str, Mask]]], list[str]] = {}
    for key in dict.fromkeys((*feed.selects, *feed.masks)):
        masks = frozenset(feed.masks.get(key, {}).items())
        alike.setdefault((feed.select_of(key), masks), []).append(key)
    for (items, masks), keys in alike.items():
        groups.append(KeyGroup(keys=tuple(keys), items=items, masks=dict(masks)))
    return groups


def columns_had_before(
    have: pa.Schema, found: Sequence[KeySelection], brought: Collection[str]
) -> pa.Schema:
    """The columns that rows have before they are routed, as far as tables have them.

    Args:
        have: those of all keys' tables.
        found: what is selected, as far as it is known without the tables.
        brought: names of those that values have brought along, as `brought_along` tells.
    """
    made = {name for one in found for name in one.outputs}
    has_all = any(one.has_star for one in found if one.is_stored)
    before: dict[str, pa.Field] = {}
    for column in have:
        sources = copies_of(column.name, found)
        if column.name not in made and has_all and column.name in brought:
            sources = [column.name]
        for source in sources:
            before.setdefault(source, column.with_name(source))
    return pa.schema(list(before.values()))


def brought_along(have: pa.Schema, selected: Collection[str], alone: pa.Schema) -> frozenset[str]:
    """Names of the tables' columns that values have brought along, where they may.

    What a key selects no more is none of these, so that it stays in that key's table alone; unless
    values have a name by now that differs by case alone, which then must get no column.

    Args:
        have: the columns of all keys' tables.
        selected: those that nothing but a `select` has ever made.
        alone: what rows have before they are routed, as far as it is known without the tables.
    """
    known = {name.lower() for name in alone.names}
    return frozenset(n for n in have.names if n not in selected or n.lower() in known)


def copies_of(name: str, found: Sequence[KeySelection]) -> list[str]:
    """Of which columns that rows have before one of the tables' is a copy, for any key."""
    outputs = (one.outputs[name] for one in found if one.is_stored and name in one.outputs)
    return [*dict.fromkeys(one.source for one in outputs if one.source is not None)]


def made_columns(
    feed: Feed, found: Sequence[KeySelection], known: pa.Schema, unused: pa.Schema
) -> tuple[list[pa.Field], list[pa.Field]]:
    """The columns of all keys' tables, and those that no row has used yet.

    Args:
        feed: whose.
        found: what is selected.
        known: what rows have before they are routed.
        unused: those of them that no row has used yet.

    Raises:
        FeedError: two keys make columns of one name and two types, or that differ by case alone.
    """
    made: dict[str, pa.Field] = {}
    whose: dict[str, str] = {}
    used: set[str] = set()
    for one in (one for one in found if one.is_stored):
        for name, output in one.outputs.items():
            column = pa.field(name, output.kind)
            if output.source is not None:
                column = known.field(output.source).with_name(name)
            first = made.setdefault(name.lower(), column)
            owner = whose.setdefault(name.lower(), one.whose)
            if (first.name, first.type) != (column.name, column.type):
                fact = f"makes {first.name} {in_words(first.type)} for {owner}, and {column.name} "
                fact += f"{in_words(column.type)} for {one.whose}"
                step = f"Cast one to the other's type, `cast(… as …) as {first.name}`, or name it "
                raise FeedError(f"selects of feed {feed.feed!r}", fact, f"{step}otherwise")
            if output.source not in unused.names:
                used.add(column.name)
    columns = [*made.values()]
    return [c for c in columns if c.name in used], [c for c in columns if c.name not in used]


def passed_on(found: Sequence[KeySelection]) -> list[Output]:
    """Each column of the tables once, as a copy if it is the same one for all keys that have it."""
    return merged_outputs(
        {str(number): [*one.outputs.values()] for number, one in enumerate(found) if one.is_stored}
    )


def merged_outputs(by_key: Mapping[str, Collection[Output]]) -> list[Output]:
    """Each column once: of all that any key makes it of."""
    merged: dict[str, Output] = {}
    for one in (one for outputs in by_key.values() for one in outputs):
        other = merged.get(one.name, one)
        parts = dict.fromkeys(filter(None, (other.spark_part, one.spark_part)))
        merged[one.name] = replace(
            other,
            source=other.source if other.source == one.source else None,
            node=other.node if other.node == one.node else None,
            reads=tuple(sorted({*other.reads, *one.reads})),
            spark_part="; ".join(parts),
        )
    return [*merged.values()]


def of_payload(one: Output, below: Iterable[Output]) -> Output:
    """A key's column by what it is made of in the payload.

    Args:
        one: made of what rows have before they are routed.
        below: how that is made of the payload.
    """
    known = {each.name: each for each in below}
    read = [known[name] for name in one.reads if name in known]
    copied = known.get(one.source or "")
    return replace(
        one,
        source=copied.source if copied else None,
        reads=tuple(sorted({name for each in read for name in each.reads})),
        spark_part=one.spark_part or (copied.spark_part if copied else ""),
    )
