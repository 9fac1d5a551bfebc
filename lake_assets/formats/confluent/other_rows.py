"""What becomes of rows that no usable version of the subject has written, by their ids alone."""

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.model.quarantine import Reason


class KnownIds(Protocol):
    """What the registry said of schema ids, as the decoder's plan has it."""

    @property
    def subject(self) -> str:
        """The feed's subject."""

    @property
    def unusable(self) -> Mapping[int, str]:
        """By schema id of the subject: why all its rows are refused."""

    @property
    def unknown_ids(self) -> frozenset[int]:
        """Ids that the registry does not have."""

    @property
    def foreign_ids(self) -> frozenset[int]:
        """Ids of other subjects."""

    @property
    def waiting_ids(self) -> frozenset[int]:
        """Ids that the registry could not be asked about."""

    @property
    def is_flooded(self) -> bool:
        """Whether any other id counts as unknown."""


def judge(
    values: pa.Array, ids: pa.Array, is_known: pa.Array, known: KnownIds
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Reason, detail and id to ask about of rows that are not of the subject's usable versions.

    Args:
        values: binary.
        ids: int64, one a value; null where the value is not framed.
        is_known: boolean: of a usable version; nothing is said of these.
        known: what is known of the ids.
    """
    none = pa.scalar(None, pa.string())
    is_empty = pc.less(pc.binary_length(values), 1).fill_null(fill_value=True)
    is_unusable = pc.is_in(ids, value_set=pa.array(sorted(known.unusable), pa.int64()))
    is_rest = pc.invert(pc.or_(is_known, is_unusable))
    is_flood = pc.and_(is_rest, pa.scalar(known.is_flooded))
    is_waiting = pc.is_in(ids, value_set=pa.array(sorted(known.waiting_ids), pa.int64()))
    tests = pc.make_struct(
        is_known,
        is_empty,
        pc.is_null(ids),
        is_unusable,
        is_waiting,
        pc.is_in(ids, value_set=pa.array(sorted(known.foreign_ids), pa.int64())),
        pc.or_(is_flood, pc.is_in(ids, value_set=pa.array(sorted(known.unknown_ids), pa.int64()))),
    )
    words = (
        None,
        Reason.EMPTY_VALUE,
        Reason.NOT_FRAMED,
        Reason.INCOMPATIBLE_SCHEMA,
        Reason.WAITING,
        Reason.FOREIGN_SCHEMA,
        Reason.UNKNOWN_SCHEMA,
    )
    reason = pc.case_when(tests, *(pa.scalar(word and word.value, pa.string()) for word in words))
    shown = ids.cast(pa.string())
    alien = f" is not of subject {known.subject}"
    nothing = (none, none, none)
    detail = pc.case_when(
        tests,
        *nothing,
        _unusable(ids, known),
        pc.binary_join_element_wise("the registry does not answer for schema id", shown, " "),
        pc.binary_join_element_wise("schema id ", shown, alien, ""),
        pc.binary_join_element_wise("schema id", shown, " "),
    )
    is_open = pc.and_(pc.is_null(reason), pc.invert(is_known))
    return reason, detail, pc.if_else(is_open, ids, pa.scalar(None, pa.int64()))


def _unusable(ids: pa.Array, known: KnownIds) -> pa.Array:
    keys = sorted(known.unusable)
    problems = pa.array([known.unusable[key] for key in keys], pa.string())
    return problems.take(pc.index_in(ids, value_set=pa.array(keys, pa.int64())))
