"""Which columns are an envelope's and which its body's, and what tables have of both."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.base import Decoder, PayloadFormat
from lake_assets.formats.column_reasons import versions_alone


def names_of(payload_format: PayloadFormat[Any], schemas: Any, decoder: Decoder) -> frozenset[str]:  # noqa: ANN401
    """The columns that rows of a format may have, in lower case, by any version that is known.

    That a row of an old version has come or not makes no difference.

    Args:
        payload_format: whose.
        schemas: what it knows.
        decoder: planned from that, without columns of tables.
    """
    names = [*decoder.columns.names, *decoder.unused.names, *decoder.renames.now]
    for _, alone in versions_alone(schemas):
        for kind in payload_format.made_by(alone, ()):
            names += kind.names
    return frozenset(name.lower() for name in names)


def prefixed(columns: pa.Schema, prefix: str) -> pa.Schema:
    """The body's columns as silver names them."""
    return pa.schema([one.with_name(f"{prefix}{one.name}") for one in columns])


def joined_renames(outer: Renames, inner: Renames, prefix: str, taken: frozenset[str]) -> Renames:
    """Older names of the columns of both.

    Args:
        outer: the envelope's.
        inner: the body's, without the prefix.
        prefix: of the body's columns in silver.
        taken: the envelope's names in lower case; values that stand there are none of the body's.
    """
    now = {f"{prefix}{old}": f"{prefix}{new}" for old, new in inner.now.items()}
    return Renames(
        now={**{old: new for old, new in now.items() if old.lower() not in taken}, **outer.now},
        within={**{f"{prefix}{name}": one for name, one in inner.within.items()}, **outer.within},
    )


def in_order(have: pa.Schema, made: Sequence[pa.Field]) -> pa.Schema:
    """The columns that tables have, as they are made now or as they are, and then the new ones."""
    by_name = {one.name: one for one in made}
    new = [one for one in made if one.name not in have.names]
    return pa.schema([*(by_name.get(one.name, one) for one in have), *new])
