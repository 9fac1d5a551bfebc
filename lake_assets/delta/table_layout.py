"""What a partitioned table says of its layout: the columns for it, and what these are made of.

Two layouts may have columns of the same names and other values in them: a day of one timestamp, and
of another. So whoever writes files says by what they were split, in the words of this module. Which
layout is wanted is not known here; `delta.relayout` changes one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.commit import SPLIT_BY, Commit
from lake_assets.errors import LakeError
from lake_assets.model.layouts import PartitionColumn
from lake_assets.parquet.partitioning import days

MADE_OF = "lake_assets.made_of"
"""Key in the metadata of a column that a table has beside the rows' own: what it is made of."""


def made_columns(partition_by: Sequence[PartitionColumn]) -> list[pa.Field]:
    """The columns that a table has beside the rows' own."""
    return [
        pa.field(one.name, pa.date32(), metadata={MADE_OF: one.expression})
        for one in partition_by
        if one.is_day
    ]


def made_of(columns: pa.Schema) -> dict[str, str]:
    """By a table's column what it is made of; empty of those that its rows brought."""
    key = MADE_OF.encode()
    return {field.name: (field.metadata or {}).get(key, b"").decode() for field in columns}


def days_in(columns: pa.Schema) -> list[PartitionColumn]:
    """Those of a table's columns that are made of others."""
    return [PartitionColumn.of(name, told) for name, told in made_of(columns).items() if told]


def with_days(rows: pa.Table, made: Iterable[PartitionColumn]) -> pa.Table:
    """Rows with the days of timestamps that they have, in place of what stood there."""
    for one in made:
        day = days(rows[one.source])
        at = rows.schema.get_field_index(one.name)
        rows = (
            rows.append_column(one.name, day)
            if at < 0
            else rows.set_column(at, rows.schema.field(at), day)
        )
    return rows


def without_made(columns: pa.Schema) -> pa.Schema:
    """Those of a table's columns that its rows brought."""
    made = made_of(columns)
    return pa.schema([field for field in columns if not made[field.name]])


def brought(column: pa.Field) -> pa.Field:
    """A column that rows bring, which says so where a table may have made one of that name."""
    return column.with_metadata({**(column.metadata or {}), MADE_OF: ""})


def in_words_of(partition_by: Sequence[PartitionColumn]) -> str:
    """What is said of a layout: `day = date(at), region`; empty of none."""
    return ", ".join(_named(one.name, one.expression) for one in partition_by)


def split_by(partition_by: Sequence[PartitionColumn]) -> Mapping[str, str]:
    """What a commit's information says of the layout that its files were written for."""
    return {SPLIT_BY: in_words_of(partition_by)} if partition_by else {}


def layout_of(handle: DeltaTable) -> str:
    """What a table says of its own layout, as `in_words_of`."""
    names = handle.metadata().partition_columns
    if not names:  # of most tables, whose columns are not looked at
        return ""
    told = {f.name: str(f.metadata.get(MADE_OF, "")) for f in handle.schema().fields}
    return layout_in(names, told)


def layout_in(partition_by: Sequence[str], told: Mapping[str, str]) -> str:
    """As `layout_of`, of a table's columns and what they are made of, as `made_of` has it."""
    return ", ".join(_named(name, told.get(name) or name) for name in partition_by)


def misfit(commit: Commit, partition_by: Collection[str], layout: str | None) -> str:
    """In words, how a commit's files are laid out otherwise than their table; empty if as it is."""
    told = commit.info.get(SPLIT_BY, "")
    split = (layout if layout is not None else ", ".join(partition_by)) or "no column"
    for file in commit.files:
        if file.partition.keys() != set(partition_by):
            by = ", ".join(file.partition) or "no column"
            return f"is partitioned by {split}, and new files of it by {by}"
        if told and layout not in {told, None}:
            return f"is partitioned by {split}, and new files of it by {told}"
    return ""


def is_laid_out_as(commit: Commit, handle: DeltaTable) -> bool:
    """Whether a commit's new files are split just as their table is."""
    return not misfit(commit, handle.metadata().partition_columns, layout_of(handle))


def ensure_laid_out(commit: Commit, partition_by: Collection[str], layout: str | None) -> None:
    """Make sure that new files are split just as their table is.

    Args:
        commit: adds them; its information may say by what they were split.
        partition_by: of the table.
        layout: of the table, as `layout_of`; None if that was compared already.

    Raises:
        LakeError: they are not: the table got another layout since they were planned.
    """
    if fact := misfit(commit, partition_by, layout):
        raise LakeError(
            commit.table.name,
            f"{fact}: its layout was changed",
            "Start what writes to it again, so that it reads the feed's `partition_by` anew",
        )


def _named(name: str, expression: str) -> str:
    return name if name == expression else f"{name} = {expression}"
