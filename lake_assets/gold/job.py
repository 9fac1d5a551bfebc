"""A view's rows computed by Spark: all keys of a refresh in one job.

Files of silver and gold are read by name from their tables' logs, so a thousand keys are one scan
and one aggregation, not a thousand plans. Commits nothing; small gains are `gold.arrow_merge`'s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.delta.commit import DataFile
from lake_assets.delta.table_log import log_of
from lake_assets.delta.table_paths import data_file
from lake_assets.errors import ExpectationFailedError
from lake_assets.gold.bucket_routing import BucketRouting
from lake_assets.gold.buckets import prefix_of
from lake_assets.gold.compiled_view import BUCKET, KEY, CompiledView
from lake_assets.gold.keyed_changes import CompiledKeyed
from lake_assets.gold.refresh_plan import RefreshPlan, Rewritten
from lake_assets.gold.view_expectations import ensure_none_fails, judged_of, marked
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.reports import Judged
from lake_assets.parquet.writer import Layout, Target, WritePlan
from lake_assets.spark.fan_out import FanOut, discard, fan_out
from lake_assets.spark.key_column import named_for_keys
from lake_assets.spark.lake_context import LakeContext
from lake_assets.spark.read_tables import Contents, read_contents, read_files


@dataclass(frozen=True, kw_only=True, slots=True)
class Computed:
    """What one job came to."""

    rewritten: Sequence[Rewritten]
    judged: Mapping[tuple[str, str], Judged]
    """By key and expectation."""


def compute(
    session: SparkSession,
    compiled_view: CompiledView | CompiledKeyed,
    silver: pa.Schema,
    work: Sequence[RefreshPlan],
    context: LakeContext,
) -> Computed:
    """Write what changes in the keys' views.

    Args:
        session: runs the job.
        compiled_view: of the view.
        silver: the columns that any of the keys' silver has.
        work: the keys.
        context: where the lake is.

    Raises:
        ExpectationFailedError: rows violate an expectation that fails; nothing is left of the job.
    """
    plan = _plan(compiled_view, work, context)
    left, gone = _run(session, compiled_view, silver, work, plan)
    by_target = [refresh.source.key for refresh in work for _ in range(refresh.buckets)]
    judged = judged_of(left.notes, compiled_view.view, by_target)
    try:
        ensure_none_fails(judged, compiled_view.view)
    except ExpectationFailedError:
        discard(left.written, plan)
        raise
    files = _files_by_key(left, by_target)
    rewritten = [
        refresh.rewritten(files.get(refresh.source.key, ()), gone[refresh.source.key])
        for refresh in work
    ]
    return Computed(rewritten=rewritten, judged=judged)


def _plan(
    compiled_view: CompiledView | CompiledKeyed, work: Sequence[RefreshPlan], context: LakeContext
) -> WritePlan:
    """A target for each bucket of each key, in their order."""
    name = compiled_view.view.name
    return WritePlan(
        store=context.lake,
        targets=tuple(
            Target(
                folder=log_of(context.lake, refresh.source.gold_table).folder,
                layout=name,
                prefix=prefix_of(bucket),
            )
            for refresh in work
            for bucket in range(refresh.buckets)
        ),
        layouts={
            name: Layout(schema=compiled_view.columns, sources=tuple(compiled_view.columns.names))
        },
        buffer_bytes=context.buffer_bytes,
    )


def _run(
    session: SparkSession,
    compiled_view: CompiledView | CompiledKeyed,
    columns: pa.Schema,
    work: Sequence[RefreshPlan],
    plan: WritePlan,
) -> tuple[FanOut, dict[str, tuple[DataFile, ...]]]:
    """Write what changes; the files, and by key those that give way to them."""
    silver = Contents(
        files=tuple(file for refresh in work for file in refresh.silver_files),
        versions=tuple(version for refresh in work for version in refresh.silver_versions),
    )
    named = named_for_keys(compiled_view.feed)
    states = _bucketed(
        compiled_view.states_of(read_contents(session, silver, columns, named=named)),
        compiled_view,
        work,
    )
    is_partial = any(not refresh.is_whole and refresh.silver_files for refresh in work)
    if is_partial:
        states = states.persist()
    try:
        touched = _touched(states, work) if is_partial else {}
        gone = {
            refresh.source.key: refresh.touched(touched.get(refresh.source.key, ()))
            for refresh in work
        }
        by_target = [refresh.source.key for refresh in work for _ in range(refresh.buckets)]
        folders = {key: target.folder for key, target in zip(by_target, plan.targets, strict=True)}
        gold_files = [
            data_file(folders[refresh.source.key], file.path)
            for refresh in work
            for file in gone[refresh.source.key]
        ]
        if not silver.files and not silver.versions and not gold_files:
            return FanOut(written={}, notes=()), gone
        rows = _rows(session, compiled_view, work, states, gold_files)
        keys = [refresh.source.key for refresh in work]
        buckets = [refresh.buckets for refresh in work]
        view = compiled_view.view  # the rest may hold what only the driver has
        left = fan_out(marked(rows, view), plan, lambda: BucketRouting(view, keys, buckets))
    finally:
        if is_partial:
            states.unpersist()
    return left, gone


def _rows(
    session: SparkSession,
    compiled_view: CompiledView | CompiledKeyed,
    work: Sequence[RefreshPlan],
    states: DataFrame,
    gold_files: Sequence[LakeUri],
) -> DataFrame:
    """Gold's columns, `#key` and `#bucket`, of all buckets that get rows."""
    if gold_files:
        gold = read_files(session, gold_files, compiled_view.columns)
        # <lake>/gold/<table>/<file>
        table = F.element_at(F.split("_metadata.file_path", "/"), -2)
        before, after = compiled_view.feed.tables.around_key(compiled_view.view.name)
        key = F.substring(table, len(before) + 1, F.length(table) - len(before) - len(after))
        had = _bucketed(compiled_view.stored(gold, key), compiled_view, work)
        states = states.unionByName(had)
    # By bucket, so that a bucket is one file and the merge needs no shuffle of its own.
    states = states.repartition(F.col(f"`{KEY}`"), F.col(f"`{BUCKET}`"))
    return compiled_view.finished(compiled_view.merged(states) if gold_files else states)


def _bucketed(
    rows: DataFrame, compiled_view: CompiledView | CompiledKeyed, work: Sequence[RefreshPlan]
) -> DataFrame:
    mask = F.lit(0).cast("bigint")
    for buckets in {refresh.buckets for refresh in work} - {1}:
        keys = [refresh.source.key for refresh in work if refresh.buckets == buckets]
        is_among = F.col(f"`{KEY}`").isin(keys)
        mask = F.when(is_among, F.lit(buckets - 1).cast("bigint")).otherwise(mask)
    place = F.xxhash64(*(F.col(f"`{key}`") for key in compiled_view.group_keys)).bitwiseAND(mask)
    return rows.withColumn(BUCKET, place.cast("int"))


def _touched(states: DataFrame, work: Sequence[RefreshPlan]) -> dict[str, set[int]]:
    """By key whose buckets are not all written anyway, those that get new rows."""
    keys = [refresh.source.key for refresh in work if not refresh.is_whole]
    touched: dict[str, set[int]] = {}
    places = states.where(F.col(f"`{KEY}`").isin(keys)).select(f"`{KEY}`", f"`{BUCKET}`")
    for key, bucket in places.distinct().collect():
        touched.setdefault(key, set()).add(bucket)
    return touched


def _files_by_key(left: FanOut, by_target: Sequence[str]) -> dict[str, list[DataFile]]:
    files: dict[str, list[DataFile]] = {}
    for index, written in left.written.items():
        files.setdefault(by_target[index], []).extend(written.files)
    return files
