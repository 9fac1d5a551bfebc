"""Columns that get a wider type or a newer name: a table's files rewritten, in one commit.

Delta has features for wider types and new names without new files, which many readers cannot open.
What is wider than what, and which field had which name, is not decided here.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lake_assets.delta.commit import WIDENED, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.conflicts import again_on_conflict
from lake_assets.delta.data_files import active_files, whole_path
from lake_assets.delta.deletion_vectors import Mask, kept_rows, undeleted
from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.renamed_columns import Renames, under_newest, unmarked, without_stale_marks
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_layout import days_in, with_days
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.model.tables import TableRef
from lake_assets.parquet.data_file import write_partitions, write_pieces
from lake_assets.parquet.partitioning import with_values
from lake_assets.parquet.read_file import opened

DROPPED = "lake_assets.dropped"
"""Key in a commit's custom metadata: the columns that the table no longer has."""

_ROWS_AT_ONCE = 131_072
"""Rows in memory, some tens of MB; they become a row group, and small ones read slowly."""

_TRIES = 5
"""Tries where another process appends to the table meanwhile, as a requeue does."""


def widen(
    committer: Committer,
    tables: Mapping[TableRef, pa.Schema],
    renames: Renames | None = None,
    *,
    is_new: bool = False,
) -> dict[TableRef, list[str]]:
    """Make the tables' columns hold what the schemas hold; a repeated call changes nothing.

    Columns and fields of structs that are missing are added, and no file changes. Where a type is
    wider, or values stand under an older name alone, the table's files are rewritten. Columns
    that the schema lacks stay, and so do those of older names, with their values. A process that
    dies on its way leaves files that no reader sees.

    Args:
        committer: commits.
        tables: the columns that each is to have; `delta.renamed_columns.marked`, if there are
            renames.
        renames: older names of columns.
        is_new: whether the renames are new to this process, which may have written older names
            after another process copied their values: the marks are not believed.

    Returns:
        The tables whose files were rewritten, with the columns that are wider or newly named.

    Raises:
        CommitConflictError: another process keeps changing a table.
        LakeError: the lake cannot be written, or a type does not hold the rows that are there.
        TableFeatureError: a table's features forbid it; the table is left as it is.
    """
    older = renames or Renames()

    def wider(schema: pa.Schema) -> Callable[[pa.Schema], _Rewriting | None]:
        return lambda have: _wider(have, schema, older, is_new)

    # Most need nothing: a lake far away is asked about them together.
    known = committer.columns(tables)
    asked = [t for t, schema in tables.items() if t not in known or wider(schema)(known[t])]
    changed = {t: _change(committer, t, wider(tables[t])) for t in asked}
    done = {t: rewriting.info[WIDENED].split(", ") for t, rewriting in changed.items() if rewriting}
    committer.add_columns({t: schema for t, schema in tables.items() if t not in done})
    return done


def drop_columns(committer: Committer, table: TableRef, names: Collection[str]) -> bool:
    """Rewrite a table's files without some columns, in one commit; whether it had one of them.

    No writer may be at work that knows of the columns: it would bring them back.

    Raises:
        CommitConflictError: another process keeps changing the table.
        LakeError: the lake cannot be written.
    """
    return _change(committer, table, lambda have: _narrower(have, names)) is not None


@dataclass(frozen=True, slots=True)
class _Rewriting:
    """How a table is rewritten."""

    columns: pa.Schema
    info: Mapping[str, str]
    renames: Renames = field(default_factory=Renames)


@again_on_conflict(_TRIES)
def _change(
    committer: Committer,
    table: TableRef,
    decide: Callable[[pa.Schema], _Rewriting | None],
) -> _Rewriting | None:
    """Rewrite a table's files as is decided by the columns that it has."""
    handle = committer.fresh(table)
    version, log = handle.version(), log_of(committer.store, table)
    have = pa.schema(handle.schema().to_arrow())
    rewriting = decide(have)
    if rewriting is not None:
        ensure_usable(handle, Use.READ, Use.REPLACE)
        kept, by = kept_rows(log, handle), handle.metadata().partition_columns
        files = [
            written
            for file in active_files(handle)
            for written in _write(
                log, file, have, rewriting, by, kept.get(log.data_file(file.path))
            )
        ]
        # Whatever the settings ask: the files that they stand for will be deleted.
        for file in files:
            log.store.sync(log.data_file(file.path))
        change = Commit(table=table, files=files, info=rewriting.info, seen=version)
        committer.replace([change], rewriting.columns)
    return rewriting


def _wider(have: pa.Schema, schema: pa.Schema, renames: Renames, is_new: bool) -> _Rewriting | None:  # noqa: FBT001
    names = [
        field.name
        for field in have
        if field.name in schema.names and _is_other(field.type, schema.field(field.name).type)
    ]
    known = pa.schema([field.remove_metadata() for field in have]) if is_new else have
    names += unmarked(known, schema)
    if not names:
        return None
    columns = without_stale_marks(_target(have, schema), renames)
    return _Rewriting(columns, {WIDENED: ", ".join(names)}, renames)


def _narrower(have: pa.Schema, names: Collection[str]) -> _Rewriting | None:
    gone = [name for name in have.names if name in names]
    if not gone:
        return None
    kept = pa.schema([field for field in have if field.name not in gone])
    return _Rewriting(kept, {DROPPED: ", ".join(gone)})


def _target(have: pa.Schema, schema: pa.Schema) -> pa.Schema:
    """The columns in the order that they have, then the new ones."""
    fields = {existing.name: existing for existing in have}
    for column in schema:
        before = fields.get(column.name, column)
        # What a column says of itself that others do not know of stays.
        metadata = {**(before.metadata or {}), **(column.metadata or {})}
        fields[column.name] = column.with_metadata(metadata or None)
    return pa.schema(list(fields.values()))


def _is_other(have: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a type differs by more than fields that a struct gains."""
    if pa.types.is_struct(have) and pa.types.is_struct(wanted):
        fields = {field.name: field.type for field in wanted}
        return any(
            _is_other(struct_field.type, fields.get(struct_field.name, struct_field.type))
            for struct_field in have
        )
    if pa.types.is_list(have) and pa.types.is_list(wanted):
        return _is_other(have.value_type, wanted.value_type)
    if pa.types.is_map(have) and pa.types.is_map(wanted):
        pairs = ((have.key_type, wanted.key_type), (have.item_type, wanted.item_type))
        return any(_is_other(*pair) for pair in pairs)
    return bool(have != wanted)


def _write(
    log: TableLog,
    file: DataFile,
    have: pa.Schema,
    rewriting: _Rewriting,
    by: Sequence[str],
    left: Mask | None,
) -> Iterator[DataFile]:
    """A file's rows under the new columns: one file, or one of each value that they have then."""
    lake, columns = log.store, rewriting.columns
    with lake.open_for_reading(log.data_file(file.path)) as source, opened(source) as rows:
        batches = undeleted(rows.iter_batches(_ROWS_AT_ONCE), left)
        if not file.has_all_columns:
            batches = _with_logged(batches, have, file)
        pieces = (under_newest(batch, columns, rewriting.renames) for batch in batches)
        made = [day for day in days_in(columns) if _changes(day.source, have, rewriting)]
        if made or any(_changes(name, have, rewriting) for name in by):
            pieces = (with_days(piece, made) for piece in pieces)
            for piece in pieces:
                for values, written in write_partitions(lake, piece, log.folder, by):
                    yield DataFile(partition=values, **written)  # type: ignore[arg-type]
            return
        path, same = whole_path(file), file.partition
        written = write_pieces(lake, pieces, columns, log.folder, path, same)
        yield DataFile(partition=same, **written)  # type: ignore[arg-type]


def _with_logged(
    batches: Iterable[pa.RecordBatch], have: pa.Schema, file: DataFile
) -> Iterator[pa.RecordBatch]:
    """Rows with the columns that the log alone has: another column may get their values."""
    for batch in batches:
        rows = with_values(under_newest(batch, have, Renames()), file.partition)
        yield from rows.to_batches()


def _changes(name: str, have: pa.Schema, rewriting: _Rewriting) -> bool:
    """Whether rows may have another value in a column of the table than they had."""
    if name not in rewriting.columns.names:
        return False  # it goes, since nothing was in it
    is_wider = name in have.names and rewriting.columns.field(name).type != have.field(name).type
    return is_wider or name in rewriting.renames.now.values()
