"""The lease of a lake, on a real server that speaks S3."""

import json
import pickle
import shutil
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from uuid import uuid4

import pytest

from lake_assets.errors import LakeError, LeaseHeldError, LeaseLostError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.runtime.file_lock import lock
from lake_assets.state.lease import LakeLease
from lake_assets.storage.objects import ObjectStore
from lake_assets_tests.programs import run_program

LASTS_S = 1.5


@pytest.fixture
def s3(either_s3):
    return either_s3


@pytest.fixture
def root(s3):
    bucket = f"bucket-{uuid4()}"
    s3.make_bucket(bucket)
    return LakeUri.parse(f"s3://{bucket}/lake")


@pytest.fixture
def make(s3, root, tmp_path):
    def made(state: str = "one") -> LakeLease:
        folder = tmp_path / state
        return LakeLease(root=root, options=s3.options, state_dir=folder, lasts_s=LASTS_S)

    return made


def sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def noted(s3, root: LakeUri) -> dict[str, object]:
    found: dict[str, object] = json.loads(ObjectStore(root, s3.options).get(root / "_lease.json"))
    return found


def test_it_is_taken_renewed_while_it_is_held_and_given_back(s3, root, make):
    with make().held(sleep) as lease:
        assert (lease.token, lease.is_fenced()) == (1, True)
        first = noted(s3, root)["beat"]
        deadline = time.monotonic() + 30
        while noted(s3, root)["beat"] == first:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        lease.ensure()
    assert noted(s3, root)["is_released"]
    with make("two").held(sleep) as lease:
        assert lease.token == 2


def test_one_that_lives_is_not_taken(make):
    with (
        replace(make(), lasts_s=9.0).held(sleep),  # seen to live at its next beat
        pytest.raises(LeaseHeldError, match=r"state folder \S+/one\. Stop"),
        make("two").held(sleep),
    ):
        pass


def test_all_of_a_state_folder_hold_it_together_and_the_last_gives_it_back(s3, root, make):
    with ExitStack() as second:
        with make().held(sleep) as lease:
            other = second.enter_context(make().held(sleep))
            assert other.token == lease.token
        assert not noted(s3, root)["is_released"]
        other.verify()
    assert noted(s3, root)["is_released"]


def not_renewed(lease: LakeLease):
    """Its holder does not write it while the block runs."""
    return lock(lease.state_dir / "lease.lock")


KILLED = """
import os, sys, time
from pathlib import Path
from lake_assets.model.lake_uri import LakeUri
from lake_assets.state.lease import LakeLease
root, url, state = sys.argv[1:]
options = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "aws_region": "us-east-1",
           "aws_endpoint": url, "aws_allow_http": "true"}
lease = LakeLease(root=LakeUri.parse(root), options=options, state_dir=Path(state), lasts_s=1.5)
with lease.held(lambda seconds: time.sleep(seconds) or False) as taken:
    print(taken.token, flush=True)
    os._exit(0)  # as SIGKILL does
"""


def test_one_whose_holder_was_killed_is_taken_and_owes_fences(s3, root, make, tmp_path):
    said = run_program(KILLED, [str(root), s3.url, str(tmp_path / "one")])
    assert said.strip() == "1"
    with make("two").held(sleep) as lease:
        assert (lease.token, lease.is_fenced()) == (2, False)
        lease.note_fenced()
        assert lease.is_fenced()
    with make("three").held(sleep) as lease:
        assert (lease.token, lease.is_fenced()) == (3, True)


def test_one_that_comes_back_to_its_own_folder_goes_on_at_once(s3, root, make, tmp_path):
    run_program(KILLED, [str(root), s3.url, str(tmp_path / "one")])
    with make().held(lambda _: pytest.fail("waits")) as lease:
        assert lease.token == 1


def test_a_holder_that_wakes_up_after_another_took_it_is_told(s3, root, make):
    stopped = threading.Event()
    with ExitStack() as held:
        old = held.enter_context(make().held(sleep))
        with not_renewed(old):
            shutil.copytree(old.state_dir, old.state_dir.with_name("copy"))
            _steal(s3, root)
        with pytest.raises(LeaseLostError, match="is written by elsewhere by now"):
            old.verify()
        (old.state_dir / "lease.json").unlink()
        with pytest.raises(LeaseLostError):
            old.ensure()
        with pytest.raises(LeaseLostError):
            pickle.loads(pickle.dumps(old)).ensure()  # noqa: S301 - our own
        stopped.set()
    assert noted(s3, root)["place"] == "elsewhere"


def _steal(s3, root: LakeUri) -> None:
    store, now = ObjectStore(root, s3.options), noted(s3, root)
    store.delete(root / "_lease.json")
    theirs = {**now, "token": 2, "holder": "x", "place": "elsewhere"}
    assert store.put_if_absent(root / "_lease.json", json.dumps(theirs).encode())


def test_what_is_noted_by_another_boot_or_is_damaged_does_not_count(make):
    with make().held(sleep) as lease:
        note = lease.state_dir / "lease.json"
        good = json.loads(note.read_text())
        for bad in ('{"boot"', json.dumps({**good, "boot": "x"}), json.dumps({**good, "token": 9})):
            note.write_text(bad)
            assert lease.age_s() == float("inf") or lease.age_s() < LASTS_S  # renewed meanwhile
            lease.ensure()


@pytest.mark.parametrize("problem", [ZeroDivisionError, KeyboardInterrupt])
def test_one_whose_block_fails_is_given_back_all_the_same(s3, root, make, problem):
    with pytest.raises(problem), make().held(sleep) as lease:
        raise problem
    assert noted(s3, root)["is_released"]
    with pytest.raises(LeaseLostError):
        lease.ensure()  # of a thread that is not at its end


def test_a_state_folder_that_is_made_anew_is_another_holder(make):
    """Whatever inode it gets: a process that has the former one's files open writes on."""
    with ExitStack() as held:
        # No renewal makes the folder while it is gone.
        old = held.enter_context(replace(make(), lasts_s=60.0).held(sleep))
        other = make()
        shutil.rmtree(old.state_dir)
        old.state_dir.mkdir()
        (old.state_dir / "lease-mark").write_text("another")
        with pytest.raises(LeaseHeldError), other.held(lambda _: True):
            pass
        with pytest.raises(LeaseLostError):
            old.verify()


def test_a_store_that_is_away_for_a_while_is_waited_for(s3, make):
    with make().held(sleep) as lease:
        s3.refuse("GET", "_lease.json", "SlowDown", status=503, times=8)
        try:
            lease.verify()
        finally:
            s3.forgive()


def test_what_is_not_given_back_since_the_store_is_away_is_logged(s3, root, make, caplog):
    with make().held(sleep):
        s3.refuse("*", "_lease.json", "AccessDenied")
    s3.forgive()
    assert "the lease was not given back" in caplog.text
    assert not noted(s3, root)["is_released"]


def test_a_damaged_lease_is_said_and_left(s3, root, make):
    store = ObjectStore(root, s3.options)
    store.put_if_absent(root / "_lease.json", b'{"token": ')
    with pytest.raises(LakeError, match="is no lease"), make().held(sleep):
        pass
    assert store.get(root / "_lease.json") == b'{"token": '


def test_a_lease_that_was_deleted_under_its_holder_and_taken_by_another_is_not_given_back(
    s3, root, make
):
    store = ObjectStore(root, s3.options)
    with ExitStack() as held:
        with make().held(sleep) as first:
            with not_renewed(first):
                store.delete(root / "_lease.json")
            other = held.enter_context(make("two").held(sleep))
            assert other.token == 1
        assert not noted(s3, root)["is_released"]
        other.verify()


def test_a_disk_that_takes_no_note_does_not_end_the_renewals(s3, root, make):
    with make().held(sleep) as lease:
        note = lease.state_dir / "lease.json"
        with not_renewed(lease):
            note.unlink()
            note.mkdir()
        beat, deadline = int(str(noted(s3, root)["beat"])), time.monotonic() + 30
        while int(str(noted(s3, root)["beat"])) < beat + 3:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        note.rmdir()
        lease.ensure()
