"""What of a Spark session changes the results of SQL, told without Spark.

A view that was computed with other settings is another view. Starting a session is
`spark.session`'s.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version

from lake_assets.settings.schema import Settings

RESULT_PROPERTIES: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    # Spark's own defaults, said so that neither a `spark-defaults.conf` nor the environment changes
    # a view behind our back; `spark.conf` of the settings does, and what it changes is recomputed.
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.session.collation.default": "UTF8_BINARY",
}
"""Properties that decide what SQL comes to, as each session of ours has them."""

_HOW_ONLY = (
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.codegen.",
    "spark.sql.execution.arrow.",
    "spark.sql.files.",
    "spark.sql.inMemoryColumnarStorage.",
    "spark.sql.shuffle.",
    "spark.sql.sources.parallelPartitionDiscovery.",
    "spark.sql.streaming.",
    "spark.sql.ui.",
    "spark.sql.warehouse.dir",
)
"""How SQL properties begin that change how fast a result comes, not which. One that is missing here
costs a recomputation when it is changed, one too many would give wrong rows."""

_WHAT_ELSE = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
"""A locale may be among them."""


def session_digest(settings: Settings) -> str:
    """A digest of Spark's version and of the properties that may change what SQL comes to.

    Args:
        settings: the session is started with them.
    """
    own = {name: value.get_secret_value() for name, value in settings.spark.conf.items()}
    properties = {**RESULT_PROPERTIES, **own}
    relevant = {name: value for name, value in properties.items() if _counts(name)}
    text = json.dumps({"version": _spark_version(), **relevant}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _counts(name: str) -> bool:
    return name in _WHAT_ELSE or (name.startswith("spark.sql.") and not name.startswith(_HOW_ONLY))


@cache
def _spark_version() -> str:
    return version("pyspark")
