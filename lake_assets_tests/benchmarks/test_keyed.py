import pyarrow.compute as pc

from benchmarks.keyed import changes_of


def test_changes_come_out_of_order_and_each_has_a_version_of_its_own():
    changes = changes_of(5_000, ("shop_0", "shop_1"))
    versions = changes["version"].to_pylist()
    assert sorted(versions) == list(range(5_000))
    assert versions != sorted(versions)
    assert set(changes["shop"].to_pylist()) == {"shop_0", "shop_1"}
    assert 300 < pc.sum(pc.equal(changes["op"], "D")).as_py() < 700


def test_a_row_is_always_of_one_shop_and_the_changes_are_the_same_each_time():
    changes = changes_of(1_000, ("shop_0", "shop_1"))
    of_row = changes.select(["id", "shop"]).group_by("id").aggregate([("shop", "count_distinct")])
    assert set(of_row["shop_count_distinct"].to_pylist()) == {1}
    assert changes == changes_of(1_000, ("shop_0", "shop_1"))
