import threading

import pytest
from deltalake.exceptions import DeltaError

from lake_assets.delta.table_pool import TablePool
from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.local import LocalStore
from lake_assets.storage.objects import ObjectStore


@pytest.fixture(params=["disk", "bucket"])
def store(request, tmp_path):
    if request.param == "disk":
        return LocalStore.at(tmp_path)
    return ObjectStore(LakeUri.parse("s3://bucket/lake"), {})


@pytest.fixture
def pool(store):
    made = TablePool(store, 3, before=lambda: None)
    yield made
    made.close()


def test_so_many_tables_are_acted_on_at_once_and_told_in_order(pool):
    together = threading.Barrier(3)

    def act(number):
        together.wait(timeout=60)
        return number * 2

    assert pool.each(act, [1, 2, 3]) == [2, 4, 6]


def test_a_look_asks_no_thread_on_a_disk_and_several_in_a_bucket(store, pool):
    together = threading.Barrier(1 if store.root.is_local else 3)

    def look(number):
        together.wait(timeout=60)
        return number, threading.current_thread() is threading.main_thread()

    found = pool.look_at_each(look, [1, 2, 3])
    assert found == [(number, store.root.is_local) for number in (1, 2, 3)]


def test_what_deltalake_says_is_an_error_of_the_lake(pool):
    def act(_):
        raise DeltaError("no log")

    with pytest.raises(LakeError, match="no log"):
        pool.each(act, [1])


def test_what_failed_before_is_told_first(store):
    def before():
        raise DeltaError("a checkpoint")

    pool = TablePool(store, 1, before)
    with pytest.raises(LakeError, match="a checkpoint"):
        pool.each(print, [1])
    pool.close()
