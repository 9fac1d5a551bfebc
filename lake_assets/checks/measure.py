"""What only the rows tell, of all tables in one Spark action.

Tables of one family are one scan and one aggregation; families are put together at the end, so that
a thousand keys cost one job and not a thousand.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, TimestampType

from lake_assets.checks.checked_tables import CheckedTable
from lake_assets.checks.subject import CheckedValue
from lake_assets.errors import FeedError
from lake_assets.model.checks import DatasetCheck, GoldCheck
from lake_assets.spark.error_words import spark_words
from lake_assets.spark.read_tables import read_tables

Asked = tuple[CheckedTable, DatasetCheck]
Measured = Mapping[tuple[str, str], CheckedValue]
"""By key's table and check, by their names."""

_TABLE = "#table"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_WANTED = {"freshness": (TimestampType, "a timestamp"), "equals_source": (NumericType, "a number")}
"""By what is checked, the type that its column must have."""


def measure(session: SparkSession, asked: Sequence[Asked]) -> Measured:
    """Measure checks of tables that have files, in one action.

    Raises:
        FeedError: a check does not fit the columns of its table.
    """
    families: dict[str, list[Asked]] = defaultdict(list)
    for checked, check in asked:
        families[checked.family].append((checked, check))
    checks = {family: _checks_of(pairs) for family, pairs in families.items()}
    frames = [_family(session, name, pairs, checks[name]) for name, pairs in families.items()]
    if not frames:
        return {}
    return {
        (row["table"], check.name): _parsed(check, text)
        for row in reduce(DataFrame.unionByName, frames).collect()
        for check, text in zip(checks[row["family"]], row["found"], strict=True)
    }


def _checks_of(asked: Sequence[Asked]) -> list[DatasetCheck]:
    return list({check.name: check for _, check in asked}.values())


def _family(
    session: SparkSession, name: str, asked: Sequence[Asked], checks: Sequence[DatasetCheck]
) -> DataFrame:
    """`family string, table string, found array<string>`, a row a table; texts carry any type."""
    handles = {table.subject.table: table.handle for table, _ in asked if table.handle}
    rows = read_tables(session, list(handles.values()), named=_TABLE)
    _ensure_fit(rows.drop(_TABLE), checks)
    columns = [_measure(check).cast("string") for check in checks]
    try:
        return (
            rows.groupBy(F.col(f"`{_TABLE}`").alias("table"))
            .agg(F.array(*columns).alias("found"))
            .select(F.lit(name).alias("family"), "table", "found")
        )
    except AnalysisException as problem:
        raise FeedError(
            f"checks of {name}",
            f"do not compile ({spark_words(problem)})",
            f"Correct their columns; there are {', '.join(rows.drop(_TABLE).columns)}",
        ) from problem


def _ensure_fit(rows: DataFrame, checks: Sequence[DatasetCheck]) -> None:
    for check in checks:
        thing = f"check {check.name!r}"
        lost = [column for column in check.columns if column not in rows.columns]
        if lost:
            fact = f"there is no column {lost[0]!r}"
            raise FeedError(thing, fact, f"Use one of {', '.join(rows.columns)}")
        wanted = _WANTED.get(check.kind)
        for column in check.columns if wanted else ():
            kind = rows.schema[column].dataType
            if wanted and not isinstance(kind, wanted[0]):
                fact = f"{column!r} is {kind.simpleString()}, not {wanted[1]}"
                raise FeedError(thing, fact, "Name another column")


def _measure(check: DatasetCheck) -> Column:
    if check.unique is not None:
        # A struct is never null, so rows whose columns are null are told apart by the others.
        distinct = F.count_distinct(F.struct(*(F.col(f"`{name}`") for name in check.unique)))
        return F.count(F.lit(1)) - distinct
    if check.freshness is not None:
        return F.unix_micros(F.max(F.col(f"`{check.freshness.column}`")))
    if isinstance(check, GoldCheck) and check.equals_source is not None:
        return F.try_sum(F.col(f"`{check.equals_source}`"))
    return F.count(F.lit(1))


def _parsed(check: DatasetCheck, text: str | None) -> CheckedValue:
    if text is None:
        return None
    if check.freshness is not None:
        return _EPOCH + timedelta(microseconds=int(text))
    number = float(text)
    return int(text) if text.lstrip("-").isdecimal() else number
