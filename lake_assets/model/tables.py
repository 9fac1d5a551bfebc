"""Which tables a lake has, and what a feed's are called; they lie in `<lake>/<layer>/<name>`.

What the tables of a feed's keys are called is `model.table_names`'.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

TABLE_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""Whatever else a layer's folder has (`lost+found`) is no table of a lake."""

KEY_NAME = re.compile(r"[a-z0-9_]{1,64}")
"""A key's name becomes a folder and a table, so nothing else is let through."""

EVERY_KEY = "*"
"""In a key's place where a view is over all keys; no key can be called so."""


STATE = "_state_"
"""How the columns of a gold table begin that a refresh keeps for itself; no column that a user
names begins with `_`."""


OUTSIDE = "external"
"""In a layer's place, in notes of which versions were read, of tables outside the lake."""


class Layer(StrEnum):
    """The folders of a lake."""

    BRONZE = "bronze"
    SILVER = "silver"
    GOLD = "gold"
    QUARANTINE = "quarantine"
    LOG = "log"


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class TableRef:
    """One Delta table of the lake."""

    layer: Layer
    name: str

    outside: str = ""
    """Folder of a table that is not in the lake, and that is only read; empty of the lake's own."""

    @property
    def relative(self) -> str:
        """Path below the lake's folder, with `/` on every system; of others, what notes call it."""
        return f"{OUTSIDE}/{self.name}" if self.outside else f"{self.layer}/{self.name}"


QUALITY_LOG = TableRef(layer=Layer.LOG, name="quality_log")
"""How each batch of each key fared with each expectation, of all feeds."""

STREAM_LOG = TableRef(layer=Layer.LOG, name="stream_log")
"""What each batch and each refresh did and how long it took, of all feeds."""

GAPS = TableRef(layer=Layer.LOG, name="gaps")
"""Which offsets were passed over, since their source had them no more, of all feeds."""

SCHEMA_LOG = TableRef(layer=Layer.LOG, name="schema_log")
"""Which columns silver's tables have had, since when and why, of all feeds."""

ERASURE_REQUESTS = TableRef(layer=Layer.LOG, name="erasure_requests")
"""Whose rows others ask to have erased; a row leaves when that is done."""

LOG_NAMES = frozenset({QUALITY_LOG.name, STREAM_LOG.name})
"""Names that no other table may have: batches are reported by the name alone."""


def in_words(key: str) -> str:
    """A key, or all of them, in a sentence."""
    return "all keys" if key == EVERY_KEY else key


def is_key_name(name: str) -> bool:
    """Whether `name` may become a table."""
    return KEY_NAME.fullmatch(name) is not None


def bronze_of(feed: str) -> TableRef:
    """The raw table of a feed."""
    return TableRef(layer=Layer.BRONZE, name=f"bronze_{feed}")


def quarantine_of(feed: str) -> TableRef:
    """The table of a feed's refused rows."""
    return TableRef(layer=Layer.QUARANTINE, name=f"quarantine_{feed}")


def waiting_of(feed: str) -> TableRef:
    """The table of rows whose schema the registry could not be asked about yet."""
    return TableRef(layer=Layer.BRONZE, name=f"bronze_{feed}_waiting")


def duplicates_of(feed: str) -> TableRef:
    """The table that says which of a feed's rows are duplicates, and of which."""
    return TableRef(layer=Layer.BRONZE, name=f"bronze_{feed}_duplicates")


def erased_of(feed: str) -> TableRef:
    """The table that says where a feed's rows were that are erased; none of their values."""
    return TableRef(layer=Layer.BRONZE, name=f"bronze_{feed}_erased")


def deliveries_of(feed: str, sink: str) -> TableRef:
    """The table of a sink; no name of a feed or a sink has a `-`, so no two have one table."""
    return TableRef(layer=Layer.LOG, name=f"deliveries_{feed}-{sink}")


def feed_of_deliveries(table: TableRef) -> str:
    """Whose sink's table `deliveries_of` named so; no name of a feed has a `-`."""
    return table.name.removeprefix("deliveries_").partition("-")[0]


def files_of(feed: str) -> TableRef:
    """The index of the files that a feed found: which offsets each has."""
    return TableRef(layer=Layer.BRONZE, name=f"bronze_{feed}_files")


def landed_of(feed: str) -> TableRef:
    """What was read of a database or a stream and is on its way to bronze, with its offsets."""
    return TableRef(layer=Layer.BRONZE, name=f"bronze_{feed}_landed")


def gold_of_all(feed: str, view: str) -> TableRef:
    """The materialized view over all keys of a feed.

    Not `gold_all_{view}`: a key `all`, or a key `all_x` with a view `y`, may come along any day.
    Under the default names a key's table begins with its layer, so these cannot meet.
    """
    return TableRef(layer=Layer.GOLD, name=f"all_{feed}_{view}")
