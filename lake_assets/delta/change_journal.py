"""A change of several tables as it is noted before its first commit, and where.

It says as a rule which rows leave each table, and names the new files that come; when and how it is
committed is `delta.multi_table_change`'s.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from lake_assets.delta.commit import Batch, DataFile
from lake_assets.delta.data_files import columns_of_file, read_file
from lake_assets.delta.offset_range import Range
from lake_assets.delta.origins import Origins
from lake_assets.delta.source_offsets import as_json, from_json
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.origins import OriginColumns, Spans
from lake_assets.model.tables import Layer, TableRef
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class TableChange:
    """One table's part."""

    table: TableRef
    files: Sequence[DataFile] = ()
    """New ones, written and in no commit yet."""

    leaving: Range | None = None
    """Rows that leave it; if not given, those that the change moves."""

    info: Mapping[str, str] = field(default_factory=dict)
    transactions: Sequence[Batch] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TablesChange:
    """All parts, in the order in which they are committed."""

    batch: Batch
    origin: OriginColumns
    """The columns that say where the rows came from."""

    tables: Sequence[TableChange]
    companions: Sequence[TableRef] = ()
    """Tables whose numbers of changes the last part records a checksum of."""

    dropped: Spans = field(default_factory=dict)
    """Rows that leave as those that are in new files, though they are in none."""

    def moved(self, lake: Store) -> Origins:
        """The rows in its new files, and those that were dropped."""
        files = {part.table: part.files for part in self.tables}
        origins = origins_in(lake, files, self.origin)
        origins.add_spans(self.dropped)
        return origins


def origins_in(
    lake: Store, files: Mapping[TableRef, Iterable[DataFile]], origin: OriginColumns
) -> Origins:
    """The rows in some files of tables, whether a commit names them or not."""
    origins = Origins(origin)
    for table, its in files.items():
        log = log_of(lake, table)
        for file in its:
            columns = origins.columns(columns_of_file(log, file))
            origins.add(read_file(log, file, columns))
    return origins


@dataclass(frozen=True, slots=True)
class ChangeJournal:
    """Where a change is noted until all of its parts are committed."""

    store: Store
    file: LakeUri
    origin: OriginColumns
    """As `TablesChange.origin`."""

    def write(self, change: TablesChange) -> None:
        """Note a change whose new files are all written."""
        noted: dict[str, object] = {
            "batch": asdict(change.batch),
            "tables": [_noted(part) for part in change.tables],
            "companions": [_named(table) for table in change.companions],
        }
        if change.dropped:  # earlier releases do not know of it
            noted["dropped"] = _listed(change.dropped)
        with self.store.open_for_writing(self.file, durable=True) as stream:
            stream.write(json.dumps(noted).encode())
        self.store.sync(self.file)

    def read(self) -> TablesChange | None:
        """The change that was noted; None if there is none.

        Raises:
            LakeError: the journal is damaged.
        """
        try:
            noted = json.loads(self.store.get(self.file))
            change = TablesChange(
                batch=Batch(**noted["batch"]),
                origin=self.origin,
                tables=[_part(entry) for entry in noted["tables"]],
                companions=[_table(entry) for entry in noted["companions"]],
                dropped=_spans(noted.get("dropped", ())),
            )
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise LakeError(
                str(self.file),
                f"is damaged ({problem}), so a change that was cut off cannot be finished",
                "Run `lake-assets rebuild silver`, which derives silver from bronze again",
            ) from problem
        return change

    def clear(self) -> None:
        """Forget the change, all of whose parts are committed."""
        self.store.delete(self.file)


def _noted(one: TableChange) -> dict[str, Any]:
    return {
        **_named(one.table),
        "files": [file.as_json for file in one.files],
        "leaving": None if one.leaving is None else dict(_bounds(one.leaving)),
        "info": dict(one.info),
        "transactions": [asdict(batch) for batch in one.transactions],
    }


def _named(table: TableRef) -> dict[str, str]:
    return {"layer": table.layer.value, "name": table.name}


def _bounds(leaving: Range) -> Iterator[tuple[str, object]]:
    for name, offsets in (("starts", leaving.starts), ("ends", leaving.ends)):
        yield name, None if offsets is None else as_json(offsets)
    if leaving.retained:  # earlier releases do not know of it
        yield "retained", as_json(leaving.retained)
    if leaving.apart:
        yield "apart", _listed(leaving.apart)


def _part(entry: Mapping[str, Any]) -> TableChange:
    bounds = entry["leaving"]
    leaving = bounds and {
        name: bound and (_spans(bound) if name == "apart" else from_json(bound))
        for name, bound in bounds.items()
    }
    return TableChange(
        table=_table(entry),
        files=[DataFile(**file) for file in entry["files"]],
        leaving=None if leaving is None else Range(**leaving),
        info=entry["info"],
        transactions=[Batch(**transaction) for transaction in entry["transactions"]],
    )


def _listed(spans: Spans) -> list[object]:
    return [[*place, list(its)] for place, its in spans.items()]


def _spans(found: Iterable[tuple[str, int, Sequence[tuple[int, int]]]]) -> Spans:
    return {
        (name, int(partition)): [(int(first), int(end)) for first, end in spans]
        for name, partition, spans in found
    }


def _table(entry: Mapping[str, Any]) -> TableRef:
    return TableRef(layer=Layer(entry["layer"]), name=entry["name"])
