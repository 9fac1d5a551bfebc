from datetime import UTC, datetime
from uuid import uuid4

from lake_assets.erasure.proved import prove_erased
from lake_assets.erasure.run import Erased
from lake_assets.erasure.wanted import Wanted
from lake_assets.model.erasures import Erasure, Erasures, Later
from lake_assets.spark.lake_context import open_lake


def test_only_what_was_looked_for_is_proved(settings):
    """Of an erasure that goes on by its hashes nobody knows the values."""
    # Of no other test: temporary files of all are looked at.
    wanted = [Wanted(column="who", values=(f"{name}-{uuid4()}",)) for name in ("ann", "bob")]
    with open_lake(settings) as context:
        ledger = context.erasures
        key = ledger.ready_key()
        every = [
            Erasure(
                id=one.values[0][:3],
                requested_at=datetime(2026, 11, 28, tzinfo=UTC),
                column=one.column,
                digests=one.digests(key),
                later=Later.DROP,
            )
            for one in wanted
        ]
        ledger.write(Erasures(key, tuple(every)))
    done = Erased(erasures=every, wanted=wanted[:1])
    assert prove_erased(settings, [], done, wanted[:1]).is_clean
    assert {one.id: one.is_proved for one in done.erasures} == {"ann": True, "bob": False}
    with open_lake(settings) as context:
        found = {one.id: one.is_proved for one in context.erasures.read().every}
    assert found == {"ann": True, "bob": False}
