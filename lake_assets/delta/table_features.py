"""What a Delta table asks of those who read or write it, and which of that is honoured here. Pure.

The one place that decides this: protocol, features, properties and columns go in; out come what to
honour (deletion vectors, constraints) and what is refused, and why. Each feature is decided by the
text of the Delta protocol (docs/decisions/0024-one-gate-for-table-features.md). Reading masks and
judging rows is the work of `delta.deletion_vectors` and `spark.table_constraints`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from deltalake import DeltaTable

from lake_assets.errors import TableFeatureError
from lake_assets.model.lake_uri import LakeUri


class Use(StrEnum):
    """What is to be done with a table."""

    READ = "read"  # its rows, from the files that its log names
    APPEND = "append to"  # files come, none goes
    REWRITE = "change rows of"  # files go, or others come in their place
    REPLACE = "replace all rows of"
    COMPACT = "compact"  # files are joined, and rows stay what they are
    ALTER = "change columns of"  # new columns, no file changes


_ALL = frozenset(Use)
_WRITES = _ALL - {Use.READ}


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFacts:
    """What a table's log says of it, as Delta names it."""

    name: str
    """Of the table, for messages: the path, since no catalogue knows these tables by a name."""

    reader: int = 1
    writer: int = 2
    reader_features: frozenset[str] = frozenset()
    writer_features: frozenset[str] = frozenset()
    properties: Mapping[str, str]
    columns: str
    """As JSON."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Uses that one feature of a table forbids."""

    feature: str
    uses: frozenset[Use]
    next_step: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TableFeatures:
    """What is to be honoured of a table, and what is refused."""

    name: str
    is_plain: bool = False
    """Whether it asks nothing but to add and remove files."""

    may_have_deletion_vectors: bool = False
    is_writable_by_deltalake: bool = True
    """Whether deltalake does not refuse to commit to it."""

    keeps_checkpoints: bool = False
    """Whether old checkpoints, and what they sum up, must stay."""

    constraints: Mapping[str, str] = field(default_factory=dict)
    """By name, SQL conditions that must be true of each new row."""

    refusals: tuple[Refusal, ...] = ()

    def ensure(self, use: Use) -> None:
        """Refuse a use that the table does not allow.

        Raises:
            TableFeatureError: names the table, the feature and what to do.
        """
        for refusal in self.refusals:
            if use in refusal.uses:
                raise refused(self.name, refusal.feature, use, refusal.next_step)


def refused(table: str, feature: str, use: Use, next_step: str) -> TableFeatureError:
    """The error of a use that a feature forbids."""
    fact = f"has the Delta feature {feature}, with which lake_assets cannot {use} a table"
    return TableFeatureError(table, feature, fact, next_step)


def features_of(handle: DeltaTable) -> TableFeatures:
    """Decide about an opened table, at its version; some microseconds for a plain one."""
    protocol, metadata = handle.protocol(), handle.metadata()
    return decide(
        TableFacts(
            name=str(LakeUri.from_address(handle.table_uri)),
            reader=protocol.min_reader_version,
            writer=protocol.min_writer_version,
            reader_features=frozenset(protocol.reader_features or ()),
            writer_features=frozenset(protocol.writer_features or ()),
            properties=metadata.configuration,
            columns=handle.schema().to_json(),
        )
    )


def decide(facts: TableFacts) -> TableFeatures:
    """What to honour of a table, and what to refuse."""
    constraints = dict(_constraints(facts))
    refusals = tuple(_refusals(facts))
    is_basic = facts.reader <= 1 and facts.writer <= _PLAIN_WRITER and not facts.writer_features
    return TableFeatures(
        name=facts.name,
        is_plain=is_basic and not constraints and not refusals,
        may_have_deletion_vectors=_DELETION_VECTORS in facts.reader_features,
        is_writable_by_deltalake=facts.writer_features <= _DELTALAKE_WRITES,
        keeps_checkpoints=_CHECKPOINT_PROTECTION in facts.writer_features,
        constraints=constraints,
        refusals=refusals,
    )


_PLAIN_WRITER = 2
"""Delta's writer version whose appends need nothing but `add` actions."""

_LEGACY_WRITER = 7
"""Up to here, and reader version 3, the protocol is what this module was written by."""

_LEGACY = {
    "appendOnly": 2,
    "invariants": 2,
    "checkConstraints": 3,
    "changeDataFeed": 4,
    "generatedColumns": 4,
    "columnMapping": 5,
    "identityColumns": 6,
}
"""By feature, the writer version from which on a table has it without naming it."""

_DELETION_VECTORS = "deletionVectors"

_CHECKPOINT_PROTECTION = "checkpointProtection"
"""What Spark leaves behind where a feature was dropped."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a feature forbids."""

    present: frozenset[Use] = frozenset()
    """Where a table has the feature, used or not."""

    active: frozenset[Use] = frozenset()
    """Where it is used, besides."""

    is_active: Callable[[TableFacts], bool] = lambda _: True
    remedy: str = "Run ALTER TABLE {table} DROP FEATURE {feature} in Spark"


def _property(name: str, *values: str) -> Callable[[TableFacts], bool]:
    wanted = values or ("true",)
    return lambda facts: facts.properties.get(name, "").lower() in wanted


def _column(mark: str) -> Callable[[TableFacts], bool]:
    return lambda facts: f'"{mark}' in facts.columns


_NEW_TABLE = (
    "Columns lose it only in a table created again: move the table's folder away, then derive its "
    "rows again with `lake-assets rebuild`"
)

_RULES: Mapping[str, _Rule] = {
    "appendOnly": _Rule(
        active=frozenset({Use.REWRITE, Use.REPLACE}),
        is_active=_property("delta.appendOnly"),
        remedy="Run ALTER TABLE {table} SET TBLPROPERTIES ('delta.appendOnly' = 'false')",
    ),
    "allowColumnDefaults": _Rule(
        active=_WRITES,
        is_active=_column("CURRENT_DEFAULT"),
        remedy="Run ALTER TABLE {table} ALTER COLUMN … DROP DEFAULT for its columns with a default",
    ),
    "generatedColumns": _Rule(
        active=_WRITES, is_active=_column("delta.generationExpression"), remedy=_NEW_TABLE
    ),
    "identityColumns": _Rule(
        active=_WRITES, is_active=_column("delta.identity."), remedy=_NEW_TABLE
    ),
    "columnMapping": _Rule(
        active=_ALL, is_active=_property("delta.columnMapping.mode", "name", "id")
    ),
    "typeWidening": _Rule(active=_ALL, is_active=_column("delta.typeChanges")),
    "inCommitTimestamp": _Rule(
        active=_WRITES, is_active=_property("delta.enableInCommitTimestamps")
    ),
    "rowTracking": _Rule(present=_WRITES),
    # Asked for by what is honoured: `constraints`, `may_have_deletion_vectors`.
    "invariants": _Rule(),
    "checkConstraints": _Rule(),
    _DELETION_VECTORS: _Rule(),
    # Optional files of changes; without them readers take files that come or go for the changes.
    "changeDataFeed": _Rule(),
    # Asks for statistics, which all files here have; nobody must cluster them.
    "clustering": _Rule(),
    "domainMetadata": _Rule(),
    # Concern VACUUM, checkpoints and types of columns, which deltalake and we leave as they are.
    "vacuumProtocolCheck": _Rule(),
    "v2Checkpoint": _Rule(),
    _CHECKPOINT_PROTECTION: _Rule(),
    "timestampNtz": _Rule(),
}

_DELTALAKE_WRITES = frozenset(
    {
        "appendOnly",
        "invariants",
        "checkConstraints",
        "changeDataFeed",
        "generatedColumns",
        "columnMapping",
        _DELETION_VECTORS,
        "timestampNtz",
        "v2Checkpoint",
    }
)
"""Of these features, those with which deltalake commits; it refuses a table that has another."""


def _refusals(facts: TableFacts) -> Iterator[Refusal]:
    if facts.reader > 3 or facts.writer > _LEGACY_WRITER:  # noqa: PLR2004 - see `_LEGACY_WRITER`
        versions = f"protocol version ({facts.reader}, {facts.writer})"
        yield Refusal(feature=versions, uses=_ALL, next_step="Upgrade lake_assets")
    for feature in _supported(facts):
        rule = _RULES.get(feature, _unknown(feature, facts))
        uses = rule.present | (rule.active if rule.is_active(facts) else frozenset())
        if uses:
            step = rule.remedy.format(table=f"delta.`{facts.name}`", feature=feature)
            yield Refusal(feature=feature, uses=uses, next_step=step)


def _supported(facts: TableFacts) -> list[str]:
    """The features that a table has, whether or not they are used; those that forbid most first."""
    named = set(facts.writer_features | facts.reader_features)
    if facts.writer < _LEGACY_WRITER:
        named |= {feature for feature, since in _LEGACY.items() if facts.writer >= since}
    if facts.reader == 2:  # noqa: PLR2004 - the version that stands for this one feature
        named.add("columnMapping")
    # A feature may bring others, such as clustering brings domainMetadata, and is what was meant.
    return sorted(named, key=lambda feature: (feature == "domainMetadata", feature))


def _unknown(feature: str, facts: TableFacts) -> _Rule:
    """A writer's feature is no reader's business; of one for both, nobody can tell."""
    return _Rule(present=_ALL if feature in facts.reader_features else _WRITES)


def _constraints(facts: TableFacts) -> Iterator[tuple[str, str]]:
    """By name, what must be true of each row: CHECK constraints, invariants, NOT NULL."""
    prefix = "delta.constraints."
    for key, condition in facts.properties.items():
        if key.startswith(prefix):
            yield key.removeprefix(prefix), condition
    if '"nullable":false' in facts.columns or '"delta.invariants"' in facts.columns:
        yield from _of_columns(json.loads(facts.columns)["fields"], "", "")


def _of_columns(fields: list[dict[str, Any]], path: str, absent: str) -> Iterator[tuple[str, str]]:
    """Of columns and the fields of structs; what is below `absent`, which is null, has none."""
    for struct_field in fields:
        column = f"{path}`{struct_field['name']}`"
        name = column.replace("`", "")
        if not struct_field["nullable"]:
            yield f"NOT NULL of {name}", f"{absent}{column} IS NOT NULL"
        if "delta.invariants" in struct_field["metadata"]:
            invariant = json.loads(struct_field["metadata"]["delta.invariants"])
            yield f"invariant of {name}", invariant["expression"]["expression"]
        kind = struct_field["type"]
        if isinstance(kind, dict) and kind["type"] == "struct":
            above = f"{absent}{column} IS NULL OR "
            yield from _of_columns(kind["fields"], f"{column}.", above)
