"""Which key silver's hashes are of: recorded, compared, and gone over to on purpose."""

from contextlib import ExitStack

import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.errors import LakeError, StreamsLockedError
from lake_assets.silver.masking_key import fingerprint
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.files import streams_lock
from lake_assets.streams.key_rotation import rotating
from lake_assets_tests.silver.selecting import KEY, Silver, feed

pytestmark = pytest.mark.spark

OTHER = b"another key of sixteen"

SECOND = Batch("query", 1)


@pytest.fixture
def silver(spark, settings):
    with ExitStack() as stack:
        yield Silver(spark, stack.enter_context(open_lake(settings)), settings)


def masked(mask="hash"):
    return feed(["model", "owner.mail as mail"], mask={"mail": mask} if mask else {})


def beat(mail):
    return {"model": "pulse", "owner": {"mail": mail}}


def hashes(silver):
    return sorted(row["mail"] for row in silver.rows(masked()))


def recorded(silver):
    folder = silver.settings.lake_dir / masked().silver_table("pulse").relative
    return DeltaTable(folder).metadata().configuration.get("lake_assets.masking_key")


def test_a_fingerprint_tells_keys_apart_and_is_no_key():
    assert fingerprint(KEY) == fingerprint(KEY) != fingerprint(OTHER)
    assert len(fingerprint(KEY)) == 32
    assert KEY.hex() not in fingerprint(KEY)


def test_tables_record_it_and_another_key_is_refused_before_anything_is_written(silver):
    silver.take(masked(), beat("a"))
    assert recorded(silver) == fingerprint(KEY)
    silver.take(masked(), beat("a"), batch=SECOND)  # of a process that has just started
    before = hashes(silver)
    other = silver.demux(masked(), OTHER)
    with pytest.raises(LakeError, match=r"another masking key .*fingerprint") as told:
        silver.take(masked(), beat("a"), batch=Batch("query", 2), demux=other)
    assert "rebuild silver" in str(told.value)
    assert OTHER.decode() not in str(told.value)
    assert hashes(silver) == before
    assert len({*before}) == 1


def test_tables_of_a_release_before_record_the_key_that_is_set(silver):
    silver.take(masked(None), beat("a"))
    assert recorded(silver) is None
    silver.take(
        masked("redact"), beat("a"), batch=SECOND, demux=silver.demux(masked("redact"), b"")
    )
    assert recorded(silver) is None
    silver.take(masked(), beat("a"), batch=Batch("query", 2))
    assert recorded(silver) == fingerprint(KEY)


def test_a_rebuild_of_all_goes_over_to_another_key(silver):
    silver.take(masked(), beat("a"), beat("b"))
    before, state = hashes(silver), silver.settings.state_dir
    redo = silver.redo(masked(), OTHER, rotates=True)
    with streams_lock(state), pytest.raises(StreamsLockedError), rotating(redo.demux, state):
        pytest.fail("the streams run")
    rows = silver.bronze(beat("a"), beat("b"))
    with pytest.raises(AttributeError), rotating(redo.demux, state):
        redo.rebuild(rows).dies  # noqa: B018 - before the tables record anything
    assert recorded(silver) == fingerprint(KEY)
    with pytest.raises(LakeError, match="another masking key"):
        silver.take(masked(), beat("a"), batch=SECOND, demux=silver.demux(masked(), OTHER))
    with rotating(redo.demux, state):
        redo.rebuild(rows)
    assert recorded(silver) == fingerprint(OTHER)
    assert not {*before} & {*hashes(silver)}
    silver.take(masked(), beat("a"), batch=SECOND, demux=silver.demux(masked(), OTHER))
    assert len({*hashes(silver)}) == 2


def test_a_key_that_stays_may_be_rebuilt_with_while_streams_run(silver):
    silver.take(masked(), beat("a"))
    state, redo = silver.settings.state_dir, silver.redo(masked(), rotates=True)
    with streams_lock(state), rotating(redo.demux, state):
        redo.rebuild(silver.bronze(beat("a")))
    assert recorded(silver) == fingerprint(KEY)
