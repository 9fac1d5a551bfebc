"""The bronze contract: a source's rows as they came, and where and when they came from.

Nothing in the payload is read but the schema id in its framing. What is the same for all rows of a
batch, or follows from the value, is added in the writing task: each column that travels from the
JVM to Python costs about a tenth of a CPU second per million rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from lake_assets.delta.origins import Within
from lake_assets.formats.confluent.framing import IdReader, schema_ids
from lake_assets.model.origins import SCHEMA_ID
from lake_assets.parquet.writer import TABLE

PARTITION = "ingested_date"


def file_schema(source: pa.Schema) -> pa.Schema:
    """Columns of bronze's data files, by what a source has (`sources.base.Source.columns`)."""
    return pa.schema(
        [
            *source,
            pa.field("ingested_at", pa.timestamp("us", tz="UTC")),
            pa.field(SCHEMA_ID, pa.int64()),
        ]
    )


def schema(source: pa.Schema) -> pa.Schema:
    """Columns of `bronze_{feed}`; the last is its partition column and not in its files."""
    return file_schema(source).append(pa.field(PARTITION, pa.date32()))


@dataclass(frozen=True, slots=True)
class Landing:
    """A `spark.fan_out.RowTransform`: completes the bronze contract but its partition."""

    ingested_at: datetime

    ids: IdReader | None = schema_ids
    """What reads the schema's id that values begin with; without framing such bytes mean something
    else."""

    erased: Within | None = None
    """Rows that are erased and that the source gives again; bronze does not take them."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Bronze rows, all for the first target."""
        at = pa.scalar(self.ingested_at, pa.timestamp("us", tz="UTC"))
        target = pa.scalar(0, pa.int32())
        for batch in map(self._kept, batches):
            added = {
                "ingested_at": pa.repeat(at, batch.num_rows),
                SCHEMA_ID: self._ids(batch),
                TABLE: pa.repeat(target, batch.num_rows),
            }
            yield pa.RecordBatch.from_arrays(
                [*batch.columns, *added.values()], names=[*batch.schema.names, *added]
            )

    def _kept(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.erased is None:
            return batch
        return batch.filter(pa.array(~self.erased.mask(pa.Table.from_batches([batch]))))

    def _ids(self, batch: pa.RecordBatch) -> pa.Array:
        if self.ids is None:
            return pa.nulls(batch.num_rows, pa.int64())
        return self.ids(batch["value"])

    def notes(self) -> Iterable[str]:
        """None: landing a row decides nothing."""
        return ()
