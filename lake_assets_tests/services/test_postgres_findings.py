import pytest
import yaml

from lake_assets.services.finding import Health
from lake_assets.services.postgres_findings import look_at_postgres_sources
from lake_assets_tests.databases import running_postgres
from lake_assets_tests.sources.postgres.landings import PURCHASES, source_of


@pytest.fixture(scope="module")
def databases():
    with running_postgres() as found:
        yield found


@pytest.fixture
def database(databases):
    return databases()


@pytest.fixture
def look(settings, database, tmp_path):
    """What the doctor tells of a feed, as it is declared."""

    def look(**declared):
        source = source_of(database, **declared).model_dump(mode="json", exclude_none=True)
        feed = {
            "feed": "purchases",
            "source": {"postgres": source},
            "payload": {"json": {"schema": "purchase_id bigint"}},
            "run": "0 * * * *",
        }
        (tmp_path / "purchases.yaml").write_text(yaml.safe_dump(feed))
        (found,) = look_at_postgres_sources(settings.model_copy(update={"feeds": tmp_path}))
        return found

    return look


def test_a_table_is_told_by_what_was_read_or_what_it_lacks(look, database):
    found = look()
    assert (found.health, "is not there" in found.fact) == (Health.LATER, True)
    database.ask(PURCHASES)
    database.ask("create index on purchases (updated_at, player)")
    found = look()
    assert (found.health, found.thing) == (Health.OK, "PostgreSQL of feed 'purchases'")
    assert found.fact == f"table 'public.purchases' of {_place(database)} can be read, 0 rows were"


def test_what_takes_time_or_hides_rows_is_told(look, database):
    database.ask(PURCHASES)
    assert look().fact.endswith(
        "but each look reads all of it, since no index begins with updated_at"
    )
    database.ask("create index on purchases (updated_at)")
    database.ask("alter table purchases alter updated_at drop not null")
    database.ask("insert into purchases (player, updated_at) values ('ann', null)")
    assert look().fact.endswith("but rows without updated_at are not read, and there are some")
    database.ask("alter table purchases enable row level security")
    database.ask("create user clerk")
    database.ask("grant select on purchases to clerk")
    assert "but policies of row security may hide rows" in look(user="clerk").fact
    found = look(user="clerk", watermark="purchase_id")
    assert "far ahead in purchase_id hides rows, since its sequence may not be read" in found.fact
    database.ask("grant select on sequence purchases_purchase_id_seq to clerk")
    assert "far ahead" not in look(user="clerk", watermark="purchase_id").fact


def test_a_database_that_is_away_is_broken(look):
    found = look(url="postgresql://127.0.0.1:1/billing")
    assert found.health is Health.BROKEN
    assert "refused" in found.fact


def _place(database):
    return database.url.partition("?")[0]
