"""Rows that only decoding tells: of quarantine, of those that wait, and of bronze that are nowhere.

An expectation that drops rows, a `select` that leaves the column out and a `mask` that hides it
leave rows in bronze that silver does not tell of. Where the values are texts, only files of bronze
that have them somewhere in a payload are decoded.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import SparkSession

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_history import open_table, rows_of
from lake_assets.delta.table_log import log_of
from lake_assets.erasure.find_values import rows_where
from lake_assets.erasure.note import Noted
from lake_assets.erasure.wanted import somewhere_in
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.expectations import Action
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of
from lake_assets.model.origins import Spans
from lake_assets.model.tables import bronze_of, quarantine_of, waiting_of
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import LakeContext
from lake_assets.streams.reprocess import erased_by_decoding


def only_decoded(
    settings: Settings,
    context: LakeContext,
    feed: Feed,
    locate: Callable[[], Endpoints],
    noted: Sequence[Noted],
    session: SparkSession | None,
) -> Mapping[str, Spans]:
    """By erasure's id, where rows of a feed are that only decoding tells of.

    Spark is started only if there are rows to decode. The turn `REDO_TURN` is held.

    Args:
        settings: where the lake is.
        context: of the lake.
        feed: whose rows.
        locate: tells where the registry is; asked only if there are rows to decode.
        noted: the erasures, which are in the ledger.
        session: decodes them; by default one is started.

    Raises:
        LakeAssetsError: Spark, the registry or the lake cannot be used.
    """
    if not feed.has_silver or not noted:
        return {}
    bronze = _files(context, feed, noted) if hides_rows(feed) else []
    aside = (open_table(context.lake, of(feed.feed)) for of in (quarantine_of, waiting_of))
    if not bronze and not any(table is not None and rows_of(table) for table in aside):
        return {}
    return erased_by_decoding(settings, feed, locate(), bronze, session)


def hides_rows(feed: Feed) -> bool:
    """Whether silver may lack rows of a person, or what tells whose they are."""
    drops = any(one.action is Action.DROP for one in feed.expectations) or feed.where is not None
    selects = bool(feed.select or feed.selects or feed.mask or feed.masks)
    return drops or selects or feed.transform is not None


def _files(context: LakeContext, feed: Feed, noted: Sequence[Noted]) -> list[DataFile]:
    """Files of bronze that may have such rows."""
    handle = open_table(context.lake, bronze_of(feed.feed))
    if handle is None:
        return []
    values = [value for one in noted for value in one.matching.plain]
    if not all(one.matching.plain for one in noted) or any(map(_is_coded, values)):
        return active_files(handle)
    log, pattern = log_of(context.lake, bronze_of(feed.feed)), somewhere_in(values)
    return rows_where(log, handle, ["value"], pattern, origin_of(feed)).files


def _is_coded(value: str) -> bool:
    """Whether a payload may have a value otherwise than as its text: as a number, or as bytes."""
    is_number = re.fullmatch(r"[+-]?[0-9]+", value) is not None
    return is_number or re.fullmatch(r"([0-9A-Fa-f]{2}){4,}", value) is not None
