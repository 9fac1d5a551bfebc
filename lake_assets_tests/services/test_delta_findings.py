import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.services.delta_findings import look_at_delta_sources
from lake_assets.services.finding import Health


@pytest.fixture
def table(settings, tmp_path):
    feeds = tmp_path / "feeds"
    feeds.mkdir()
    source = tmp_path / "orders"
    text = f"feed: orders\nsource: {{delta: {{path: {source}}}}}\n"
    (feeds / "orders.yaml").write_text(f'{text}payload: {{json: {{schema: "id int"}}}}\n')
    return settings.model_copy(update={"feeds": feeds}), source


def test_a_table_is_told_by_its_version_or_what_it_lacks(table):
    settings, source = table
    (found,) = look_at_delta_sources(settings)
    assert (found.health, "is not there" in found.fact) == (Health.LATER, True)
    write_deltalake(str(source), pa.table({"id": [1]}))
    (found,) = look_at_delta_sources(settings)
    assert (found.health, found.thing) == (Health.OK, "Delta table of feed 'orders'")
    assert found.fact == f"{source}: at version 0, nothing of it was found yet"


def test_a_table_that_cannot_be_read_is_broken(table):
    settings, source = table
    write_deltalake(str(source), pa.table({"id": [1]}))
    (source / "_delta_log" / f"{0:020}.json").write_text("torn")
    (found,) = look_at_delta_sources(settings)
    assert found.health is Health.BROKEN
    assert "cannot be opened" in found.fact


def test_a_table_whose_changes_are_read_and_not_recorded_is_told(table):
    settings, source = table
    feed = settings.feeds / "orders.yaml"
    feed.write_text(feed.read_text().replace(f"path: {source}", f"path: {source}, read: changes"))
    write_deltalake(str(source), pa.table({"id": [1]}))
    _, found = look_at_delta_sources(settings)
    assert (found.health, "records no changes" in found.fact) == (Health.BROKEN, True)
    DeltaTable(source).alter.set_table_properties({"delta.enableChangeDataFeed": "true"})
    (found,) = look_at_delta_sources(settings)
    assert found.health is Health.OK
