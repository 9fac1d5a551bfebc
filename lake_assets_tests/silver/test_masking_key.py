"""Which key silver's hashes are of: recorded, compared, and gone over to on purpose."""

from contextlib import ExitStack, suppress

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.delta.multi_table_change import finish
from lake_assets.errors import ExpectationFailedError, LakeError, StreamsLockedError
from lake_assets.model.tables import quarantine_of
from lake_assets.silver.lost_rows import lost_rows, note_lost
from lake_assets.silver.masking_key import begin_rotation, fingerprint
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.files import streams_lock
from lake_assets.streams.key_rotation import rotating
from lake_assets_tests.silver.selecting import KEY, Silver, feed
from lake_assets_tests.silver.test_reprocess import dying

pytestmark = pytest.mark.spark

OTHER = b"another key of sixteen"

THIRD = b"a third key of sixteen"

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


def recorded(silver, key="pulse", name="masking_key"):
    folder = silver.settings.lake_dir / masked().silver_table(key).relative
    return DeltaTable(folder).metadata().configuration.get(f"lake_assets.{name}")


def all_hashes(silver):
    """By key of the route."""
    return {key: [row["mail"] for row in silver.rows(masked(), key)] for key in ("pulse", "vita")}


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


BOTH = [{"model": key, "owner": {"mail": "a"}} for key in ("pulse", "vita")]


def broken_off(silver, *, after_all):
    """Tables of one key whose rotation to another dies."""
    silver.take(masked(), *BOTH)
    redo = silver.redo(masked(), OTHER, rotates=True)
    with suppress(KeyboardInterrupt), rotating(redo.demux, silver.settings.state_dir):
        (redo if after_all else dying(redo)).rebuild(silver.bronze(*BOTH))
        raise KeyboardInterrupt
    (mail,), (other,) = all_hashes(silver).values()
    assert (mail == other) == after_all


def rebuilt(silver, key):
    redo = silver.redo(masked(), key, rotates=True)
    finish(redo.journal, silver.context.committer)
    with rotating(redo.demux, silver.settings.state_dir):
        redo.rebuild(silver.bronze(*BOTH))


@pytest.mark.parametrize("after_all", [True, False])
@pytest.mark.parametrize("then", [KEY, OTHER, THIRD])
def test_a_rotation_that_dies_leaves_no_key_to_streams_until_all_is_rebuilt(
    silver, then, after_all
):
    broken_off(silver, after_all=after_all)
    for key in (KEY, OTHER, THIRD):
        redo = silver.redo(masked(), key)
        finish(redo.journal, silver.context.committer)
        before = all_hashes(silver)
        with pytest.raises(LakeError, match=r"going over to another masking key .*two keys"):
            silver.take(masked(), beat("a"), batch=SECOND, demux=silver.demux(masked(), key))
        with pytest.raises(LakeError, match="going over"):
            redo.rebuild(silver.bronze(*BOTH), ["pulse"])
        assert all_hashes(silver) == before
    rebuilt(silver, then)
    for table in ("pulse", "vita"):
        assert recorded(silver, table) == fingerprint(then)
        assert not recorded(silver, table, "next_masking_key")
    silver.take(masked(), beat("a"), batch=SECOND, demux=silver.demux(masked(), then))
    found = all_hashes(silver)
    assert {table: len(mails) for table, mails in found.items()} == {"pulse": 2, "vita": 1}
    assert len({mail for mails in found.values() for mail in mails}) == 1


def test_a_rotation_that_dies_before_all_tables_say_so_refuses_streams_too(silver):
    silver.take(masked(), *BOTH)
    begin_rotation(silver.context.committer, [masked().silver_table("vita")], OTHER)
    with pytest.raises(LakeError, match=r"silver_vita_events.*going over"):
        silver.take(masked(), beat("a"), batch=SECOND, demux=silver.demux(masked()))
    rebuilt(silver, KEY)
    silver.take(masked(), beat("a"), batch=SECOND, demux=silver.demux(masked()))
    assert len({*all_hashes(silver)["pulse"]}) == 1


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_rotation_that_an_expectation_stops_has_changed_nothing(silver, is_begun):
    silver.take(masked(), *BOTH)
    if is_begun:
        begin_rotation(silver.context.committer, [masked().silver_table("pulse")], THIRD)
    rule = {"name": "is_vita", "sql": "model = 'vita'", "action": "fail"}
    strict = feed(["model", "owner.mail as mail"], mask={"mail": "hash"}, expectations=[rule])
    redo, state = silver.redo(strict, OTHER, rotates=True), silver.settings.state_dir
    with pytest.raises(ExpectationFailedError), rotating(redo.demux, state):
        redo.rebuild(silver.bronze(*BOTH))
    again = silver.demux(masked())
    if is_begun:  # what broke off before may have changed something
        with pytest.raises(LakeError, match="going over"):
            silver.take(masked(), beat("a"), batch=SECOND, demux=again)
    else:
        silver.take(masked(), beat("a"), batch=SECOND, demux=again)
        assert len({*all_hashes(silver)["pulse"]}) == 1


@pytest.mark.parametrize("noted", ["", "silver_vita_events lacked files"])
def test_a_rotation_that_an_expectation_stops_leaves_other_feeds_as_they_were(silver, noted):
    silver.take(masked(), *BOTH)
    lake = silver.context.lake
    silver.context.committer.create({quarantine_of("twin"): pa.schema([("a", pa.int64())])})
    if noted:
        note_lost(lake, ["twin"], noted)
    rule = {"name": "is_vita", "sql": "model = 'vita'", "action": "fail"}
    strict = feed(["model", "owner.mail as mail"], mask={"mail": "hash"}, expectations=[rule])
    own = {"feed": "twin", "into": strict.feed, "route": None, "expectations": ()}
    redo = silver.redo(strict.beside([strict, strict.model_copy(update=own)]), OTHER, rotates=True)

    def rebuild():
        assert "another masking key" in lost_rows(lake, "twin")
        redo.rebuild(silver.bronze(*BOTH))

    with pytest.raises(ExpectationFailedError), rotating(redo.demux, silver.settings.state_dir):
        rebuild()
    assert lost_rows(lake, "twin") == noted
