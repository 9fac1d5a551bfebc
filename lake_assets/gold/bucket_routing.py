"""Which target of a fan-out each row of a view goes to: the last hand in the writing tasks."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.gold.compiled_view import BUCKET, KEY
from lake_assets.gold.view_expectations import GoldJudge
from lake_assets.model.gold_views import GoldView
from lake_assets.parquet.writer import TABLE


class BucketRouting:
    """A `spark.fan_out.RowTransform`: `#key` and `#bucket` become `#table`.

    The view's expectations are evaluated. Rows of keys that nobody asked for are left out.
    """

    def __init__(self, view: GoldView, keys: Sequence[str], buckets: Sequence[int]) -> None:
        """Place the rows of `keys`, whose tables have so many buckets each."""
        self._names = pa.array(keys, pa.string())
        self._first = np.concatenate(([0], np.cumsum(buckets)))
        by_target = [g for g, n in zip(keys, buckets, strict=True) for _ in range(n)]
        self._judge = GoldJudge(view, by_target) if view.expectations else None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows to write."""
        placed = (self._place(batch) for batch in batches)
        return self._judge(placed) if self._judge else placed

    def notes(self) -> Iterable[str]:
        """What `judged_of` reads."""
        return self._judge.notes() if self._judge else ()

    def _place(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        indices = pc.index_in(batch[KEY], value_set=self._names)
        if indices.null_count:
            batch = batch.filter(pc.is_valid(indices))
            indices = indices.drop_null()
        first = self._first[indices.to_numpy(zero_copy_only=False)]
        table = first + batch[BUCKET].to_numpy(zero_copy_only=False)
        return batch.append_column(TABLE, pa.array(table, pa.int32()))
