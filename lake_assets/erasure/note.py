"""Entering a request into the ledger, or finding it there: from then on streams obey it."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pyarrow as pa

from lake_assets.erasure.matching import Matching
from lake_assets.erasure.wanted import Wanted, ensure_sensible
from lake_assets.errors import ErasureError, SourceError, SourceNotFoundError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.erasures import Erasure, ErasureState, Later
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import ByPlace
from lake_assets.model.transforms import Mask
from lake_assets.silver.mask_values import Masks
from lake_assets.sources.catalog import source_of
from lake_assets.state.erasure_ledger import ErasureLedger
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Noted:
    """An erasure in the ledger, and what tells its values."""

    erasure: Erasure
    matching: Matching
    wanted: Wanted | None = field(default=None, repr=False)
    """None if only the hashes are known."""


def note(
    ledger: ErasureLedger,
    wanted: Sequence[Wanted],
    later: Later,
    cuts: Mapping[str, ByPlace],
    masking_key: bytes,
) -> list[Noted]:
    """Enter requests, or go on with those of the same values that are not done.

    Args:
        ledger: of the lake.
        wanted: the requests, one a column.
        later: what becomes of rows that come from the cuts on.
        cuts: by feed and place, the source's next offset.
        masking_key: by which tables may hide the columns; empty if there is none.

    Raises:
        ErasureError: a request means nothing.
        LakeError: the ledger cannot be read or written.
    """
    if not wanted:
        return []
    wanted = [*map(ensure_sensible, wanted)]
    erasures, key = ledger.read(), ledger.ready_key()
    erasures = replace(erasures, key=key)
    noted = []
    for one in wanted:
        digests = one.digests(key, _hidden(one, masking_key))
        open_one = next(
            (
                known
                for known in erasures.every
                if known.column.lower() == one.column.lower()
                and {*known.digests} == {*digests}
                and known.later is later
                and known.state is not ErasureState.DONE
            ),
            None,
        )
        erasure = open_one or Erasure(
            id=f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(6)}",
            requested_at=datetime.now(UTC),
            column=one.column,
            digests=digests,
            later=later,
            cuts=cuts,
        )
        erasures = erasures.with_changed([erasure])
        matching = matching_of(erasure, key, one, masking_key)
        noted.append(Noted(erasure=erasure, matching=matching, wanted=one))
    ledger.write(erasures)
    return noted


def matching_of(
    erasure: Erasure, key: bytes, wanted: Wanted | None, masking_key: bytes = b""
) -> Matching:
    """What tells an erasure's values, which may be known or not."""
    return Matching(
        column=erasure.column,
        key=key,
        digests=frozenset(erasure.digests),
        spellings=() if wanted is None else wanted.spellings(_hidden(wanted, masking_key)),
        plain=() if wanted is None else wanted.values,
    )


def matching_for(wanted: Wanted, key: bytes, masking_key: bytes = b"") -> Matching:
    """What tells values that are in no ledger; `key` is of their hashes."""
    hidden = _hidden(wanted, masking_key)
    return Matching(
        column=wanted.column,
        key=key,
        digests=frozenset(wanted.digests(key, hidden)),
        spellings=wanted.spellings(hidden),
        plain=wanted.values,
    )


def with_hidden(wanted: Wanted, masking_key: bytes) -> Wanted:
    """With what tables have in the place of values that they hide by a hash."""
    return replace(wanted, values=(*wanted.values, *_hidden(wanted, masking_key)))


def _hidden(wanted: Wanted, masking_key: bytes) -> tuple[str, ...]:
    """What tables have in the place of values that they hide by a hash."""
    if not masking_key:
        return ()
    masks = Masks(by_column={wanted.column: Mask.HASH}, key=masking_key)
    hidden = masks.hidden(wanted.column, pa.array(wanted.values, pa.string()))
    return tuple(hidden.to_pylist())


def cuts_of(feeds: Iterable[Feed], endpoints: Endpoints, lake: Store) -> dict[str, ByPlace]:
    """By feed and place, the next offset of its source, now.

    Raises:
        ErasureError: a source does not answer.
    """
    cuts: dict[str, ByPlace] = {}
    for feed in feeds:
        try:
            cuts[feed.feed] = source_of(feed, endpoints, lake).extent().ends
        except SourceNotFoundError:
            cuts[feed.feed] = {}
        except SourceError as problem:
            raise ErasureError(
                f"feed {feed.feed!r}",
                f"its source cannot be asked how far it is ({problem})",
                "With `--later keep` that decides which rows are later ones: start it, or use "
                "`--later drop`",
            ) from problem
    return cuts
