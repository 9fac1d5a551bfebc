import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.flows import expectations_of_tables

ORDERS = """feed: orders
source: {kafka: {topic: orders}}
payload: {json: {schema: "shop string, total double"}}
route: {column: shop, keys: [berlin]}
tables: {silver: "orders_of_{key}"}
expectations: [{name: has_total, sql: total is not null}]
"""

OLD = """feed: old_orders
source: {kafka: {topic: old-orders}}
payload: {json: {schema: "shop string, price double"}}
into: orders
"""


@pytest.fixture
def load(tmp_path):
    def written(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        return {feed.feed: feed for feed in load_feeds(tmp_path)}

    return written


def test_a_feed_fills_the_tables_of_another(load):
    feeds = load(orders=ORDERS, old=OLD)
    old = feeds["old_orders"]
    assert old.silver_table("berlin") == feeds["orders"].silver_table("berlin")
    assert [expectation.name for expectation in old.expectations] == ["has_total"]
    assert old.layout_of("berlin") == feeds["orders"].layout_of("berlin")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("into: gone", "line 4: into: there is no feed 'gone'; other feeds are orders"),
        ("into: old_orders", "line 4: into: is the feed itself. Leave it out"),
        (
            "into: orders\nroute: {column: shop, keys: [berlin]}",
            "line 5: route: is of the tables. Declare it of feed 'orders', which has them",
        ),
        ("into: orders\ngold: []", "line 5: gold: is of the tables"),
        ("into: orders\nchecks: []", "line 5: checks: is of the tables"),
        ("into: orders\nmasks: {}", "line 5: masks: is of the tables"),
        ("into: orders\nretention: {keep: 7d}", "line 5: retention: is of the tables"),
        ("into: Orders", "line 4: into"),
        (
            "into: orders\ndeduplicate: {key: [shop], within: 1h}",
            "line 5: deduplicate: is of the tables. Declare it of feed 'orders', which has them",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line(load, changed, said):
    with pytest.raises(FeedError) as problem:
        load(orders=ORDERS, old=OLD.replace("into: orders", changed))
    assert said in str(problem.value)


def test_rows_of_all_feeds_are_deduplicated_as_the_tables_say(load):
    unique = f"{ORDERS}deduplicate: {{key: [shop], within: 1h}}\n"
    old = load(orders=unique, old=OLD)["old_orders"]
    assert old.deduplicate.key == ("shop",)


def test_files_are_not_deduplicated_by_when_kafka_got_a_row(load):
    unique = f"{ORDERS}deduplicate: {{key: [shop], within: 1h}}\n"
    files = FILES.replace("shop string", "shop string, at timestamp") + "into: orders\n"
    told = "line 4: into: feed 'orders' deduplicates by when kafka got a row, and files tells"
    with pytest.raises(FeedError, match=told):
        load(orders=unique, files=files)
    by_column = unique.replace("within: 1h", "within: 1h, time: at")
    by_column = by_column.replace("shop string", "shop string, at timestamp")
    assert load(orders=by_column, files=files)["files_of_orders"].deduplicate.time == "at"


@pytest.mark.parametrize(
    "keyed",
    [
        "keyed: {by: shop, order: total}",
        "keyed: {by: shop, order: _offset, tombstones: true}",
        "gold: [{name: rows, keyed: {by: shop, order: total}}]",
    ],
)
def test_a_feed_with_keyed_tables_has_its_tables_for_itself(load, keyed):
    """The order of its changes is told by one feed's origin alone."""
    load(orders=f"{ORDERS}{keyed}\n")
    with pytest.raises(FeedError, match="line 4: into: feed 'orders' has keyed tables, which is"):
        load(orders=f"{ORDERS}{keyed}\n", old=OLD)


def test_a_route_by_what_its_values_have_not_is_told(load):
    orders = """feed: orders
source: {kafka: {topic: orders}}
payload: {protobuf: {subject: orders-value}}
route: {message: true, keys: [berlin]}
"""
    with pytest.raises(FeedError, match=r"cannot take: .*values of json have no message types"):
        load(orders=orders, old=OLD)


def test_a_feed_whose_keys_have_own_columns_has_its_tables_for_itself(load):
    by_message = "route: {message: true, keys: [berlin]}\ncolumns: own"
    payload = "payload: {protobuf: {subject: orders-value}}"
    own = ORDERS.replace("route: {column: shop, keys: [berlin]}", by_message)
    own = own.replace(ORDERS.splitlines()[2], payload)
    load(orders=own)
    old = OLD.replace(OLD.splitlines()[2], payload)
    with pytest.raises(FeedError, match="line 4: into: feed 'orders' has `columns: own`, which"):
        load(orders=own, old=old)
    with pytest.raises(FeedError, match="line 5: columns: is of the tables"):
        load(orders=ORDERS, old=f"{OLD}columns: shared\n")


@pytest.mark.parametrize("own", ["selects: {berlin: [shop]}", "masks: {berlin: {shop: redact}}"])
def test_a_feed_whose_keys_select_has_its_tables_for_itself(load, own):
    load(orders=f"{ORDERS}{own}\n")
    with pytest.raises(FeedError, match="line 4: into: feed 'orders' selects or hides by key"):
        load(orders=f"{ORDERS}{own}\n", old=OLD)


def test_no_feed_fills_the_tables_of_one_that_has_none(load):
    third = OLD.replace("feed: old_orders", "feed: older").replace("orders\n", "old_orders\n")
    third = third.replace("into: orders", "into: old_orders")
    with pytest.raises(FeedError, match="its rows go into those of 'orders'"):
        load(orders=ORDERS, old=OLD, third=third)


def test_two_that_fill_each_others_tables_are_refused(load):
    first = OLD.replace("feed: old_orders", "feed: orders").replace(
        "into: orders", "into: old_orders"
    )
    with pytest.raises(FeedError, match="has no silver tables"):
        load(orders=first, old=OLD)


def test_rows_must_have_the_column_that_the_tables_go_by(load):
    without = OLD.replace("shop string, ", "")
    with pytest.raises(FeedError) as told:
        load(orders=ORDERS, old=without)
    assert "line 4: into: feed 'orders' declares route.column" in str(told.value)
    assert "'shop' is no column of the payload's schema" in str(told.value)
    load(orders=ORDERS, old=without + "select: ['*', 'cast(price as string) as shop']\n")


def test_a_view_reads_the_feed_that_has_the_tables(load):
    reader = """feed: reader
source: {kafka: {topic: reader}}
payload: {json: {schema: "shop string"}}
gold: [{name: sums, sql: select shop from old_orders.silver_all}]
"""
    with pytest.raises(FeedError, match="the rows of feed 'old_orders' are in those of 'orders'"):
        load(orders=ORDERS, old=OLD, reader=reader)


FILES = """feed: files_of_orders
source: {files: {path: /data/old, pattern: "*.jsonl", format: jsonl}}
payload: {json: {schema: "shop string, total double"}}
"""


def test_files_go_into_the_tables_of_a_topic_and_name_their_place_as_it_does(load):
    feeds = load(orders=ORDERS, files=FILES + "into: orders\nrun: manual\nwhere: total > 0\n")
    old = feeds["files_of_orders"]
    assert old.source.origin.in_silver.identity == ("_topic", "_partition", "_offset")
    assert old.source.origin.identity == ("listing", "ordinal")
    assert feeds["orders"].source.origin.in_silver.further == ()
    names = [expectation.name for expectation in old.expectations]
    assert names == ["where_of_files_of_orders", "has_total"]
    assert [one.name for one in expectations_of_tables(old)] == ["has_total"]
    assert [one.name for one in expectations_of_tables(feeds["orders"])] == ["has_total"]


def test_a_topic_has_partitions_that_tables_of_files_have_no_column_for(load):
    own = FILES.replace("files_of_orders", "orders")
    load(orders=own)
    with pytest.raises(FeedError, match=r"line 4: into: .*no column for the partitions of kafka"):
        load(orders=own, old=OLD)


def test_files_are_not_routed_by_what_only_topics_have(load):
    by_topic = ORDERS.replace("{column: shop, keys: [berlin]}", "{topic: true, keys: [berlin]}")
    load(orders=by_topic)
    with pytest.raises(FeedError, match="declares route, and rows of files have no topic"):
        load(orders=by_topic, files=f"{FILES}into: orders\n")


def test_where_goes_with_into(load):
    with pytest.raises(FeedError, match="line 7: where: goes with `into`"):
        load(orders=f"{ORDERS}where: total > 0\n")


def test_an_expectation_of_the_tables_is_not_called_as_where_is(load):
    orders = ORDERS.replace("name: has_total", "name: where_of_files_of_orders")
    with pytest.raises(FeedError, match=r"line 4: where: .*'orders' has an expectation called so"):
        load(orders=orders, files=f"{FILES}where: total > 0\ninto: orders\n")


def test_a_run_that_is_neither_a_schedule_nor_manual_is_told_what_it_may_be(load):
    with pytest.raises(FeedError, match=r"line 7: run: .*or `manual`"):
        load(orders=f"{ORDERS}run: once\n")
