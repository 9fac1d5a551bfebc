"""What a store promises, on the S3 of docker/compose.yaml: with `--weed` only."""

from uuid import uuid4

import pytest

from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.conditional import ConditionalFile
from lake_assets.storage.conditions import ensure_conditions
from lake_assets.storage.objects import ObjectStore
from lake_assets_tests.storage.contract import Place, StoreContract


@pytest.fixture
def root(seaweed):
    return LakeUri.parse(f"{seaweed.address(uuid4().hex)}/some/lake")


class TestSeaweed(StoreContract):
    """All that a store promises."""

    @pytest.fixture
    def place(self, seaweed, root):
        store = ObjectStore(root, seaweed.options)
        return Place(store, root, clock_s=1.1, page=1000, has_folders=True)


def test_conditions_are_heeded_and_nothing_is_left_of_the_trial(seaweed, root):
    ensure_conditions(root, seaweed.options)
    assert list(ObjectStore(root, seaweed.options).list_from(root)) == []


def test_a_file_is_replaced_by_one_of_those_who_read_it(seaweed, root):
    one, other = (ConditionalFile(root / "file", seaweed.options) for _ in range(2))
    assert (one.read(), other.read()) == (None, None)
    assert [one.write(b"1"), other.write(b"2")] == [True, False]
    assert other.read() == b"1"
    assert [one.write(b"3"), other.write(b"4")] == [True, False]


def test_a_folder_is_copied(seaweed, root):
    store = ObjectStore(root, seaweed.options)
    for name in ("a", "log/1", "log/2"):
        assert store.put_if_absent(root / "t" / name, name.encode())
    store.copy_folder(root / "t", root / "u", last="log")
    assert [store.get(root / "u" / name) for name in ("a", "log/2")] == [b"a", b"log/2"]
