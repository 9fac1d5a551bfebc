import threading
from datetime import UTC, datetime
from uuid import uuid4

from lake_assets.erasure.proof import Proof
from lake_assets.erasure.proved import prove_erased
from lake_assets.erasure.run import Erased
from lake_assets.erasure.scanned import Scanned
from lake_assets.erasure.wanted import Wanted
from lake_assets.model.erasures import Erasure, Erasures, Later
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.erasure_ledger import ERASING
from lake_assets.state.files import turn


def noted(settings, wanted):
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
    return every


def test_only_what_was_looked_for_is_proved(settings):
    """Of an erasure that goes on by its hashes nobody knows the values."""
    # Of no other test: temporary files of all are looked at.
    wanted = [Wanted(column="who", values=(f"{name}-{uuid4()}",)) for name in ("ann", "bob")]
    every = noted(settings, wanted)
    done = Erased(erasures=every, wanted=wanted[:1])
    assert prove_erased(settings, [], done, wanted[:1]).is_clean
    assert {one.id: one.is_proved for one in done.erasures} == {"ann": True, "bob": False}
    with open_lake(settings) as context:
        found = {one.id: one.is_proved for one in context.erasures.read().every}
    assert found == {"ann": True, "bob": False}


def test_it_is_noted_while_no_other_erasure_is_under_way(settings, monkeypatch):
    """Which may note what a ledger that was read before lacks."""
    at_once = Proof(scanned=Scanned(digests=()))
    monkeypatch.setattr("lake_assets.erasure.proved.prove", lambda *_, **__: at_once)
    wanted = [Wanted(column="who", values=(f"ann-{uuid4()}",))]
    done = Erased(erasures=noted(settings, wanted), wanted=wanted)
    proving = threading.Thread(target=prove_erased, args=(settings, [], done, wanted))
    with turn(settings.state_dir, ERASING):
        proving.start()
        proving.join(1.0)
        assert proving.is_alive()
    proving.join(30)
    assert done.erasures[0].is_proved
