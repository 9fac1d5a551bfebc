"""Erasures noted in a lake, as who erases notes them before it touches any row."""

from datetime import UTC, datetime
from uuid import uuid4

from lake_assets.erasure.wanted import Wanted
from lake_assets.model.erasures import Erasure, Erasures, Later

AT = datetime(2026, 11, 28, tzinfo=UTC)


def note(context, column, *values, later=Later.DROP, cuts=None, feed="games"):
    """Note an erasure of a column's values; its id."""
    ledger = context.erasures
    key, before = ledger.ready_key(), ledger.read()
    one = Erasure(
        id=uuid4().hex,
        requested_at=AT,
        column=column,
        digests=Wanted(column=column, values=values).digests(key),
        later=later,
        cuts={feed: cuts or {}},
    )
    ledger.write(Erasures(key, (*before.every, one)))
    return one.id
