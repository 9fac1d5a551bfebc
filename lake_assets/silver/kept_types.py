"""Which columns keep their integers, though rows have fractions for them."""

from collections.abc import Sequence

import pyarrow as pa

from lake_assets.delta.committer import Committer
from lake_assets.delta.held_values import unheld
from lake_assets.delta.rounded_columns import rounded_columns
from lake_assets.formats.questions import KeptTypesQuestion
from lake_assets.model.tables import TableRef


def kept_types(
    committer: Committer,
    tables: Sequence[TableRef],
    have: pa.Schema,
    wanted: pa.Schema,
    *,
    rounds: bool,
) -> frozenset[KeptTypesQuestion]:
    """The question that is to be answered before tables get the wanted columns, if there is one.

    Args:
        committer: of the lake.
        tables: whose values must be held.
        have: the decoded columns of the tables.
        wanted: what they are to become.
        rounds: whether columns of integers may become doubles at all.
    """
    rounded = rounded_columns(have, wanted)
    kept = unheld(committer, tables, wanted, rounded) if rounds and rounded else rounded
    return frozenset({KeptTypesQuestion(tuple(kept))} if kept else ())
