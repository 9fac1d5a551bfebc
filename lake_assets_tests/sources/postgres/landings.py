"""What tests of landings share: a table of purchases, and what landed of it."""

import json
from contextlib import closing

from lake_assets.model.postgres_source import PostgresSource
from lake_assets.sources.landing.table import handle_of
from lake_assets.sources.postgres.landing import Landing

PURCHASES = """
create table purchases (
    purchase_id bigint generated always as identity primary key,
    player text not null,
    amount numeric(10, 2),
    updated_at timestamptz not null default now(),
    changes int not null default 0
)
"""


def source_of(database, **declared):
    """A source as a feed declares it."""
    given = {
        "url": database.url,
        "user": "postgres",
        "table": "public.purchases",
        "watermark": "updated_at",
        "key": ["purchase_id"],
        **declared,
    }
    return PostgresSource.model_validate(given)


def land(source, lake, feed="purchases"):
    """Do what a process does that has just started; the offset that comes next."""
    with closing(Landing(source, lake, feed)) as landing:
        while landing.step():
            pass
        return landing.end


def landed(lake, feed="purchases", *, as_written=False):
    """What landed, in its order."""
    rows = handle_of(lake, feed).to_pyarrow_table().sort_by("ordinal").to_pylist()
    values = [row["value"] for row in rows if row["ordinal"] is not None]
    return [value.decode() if as_written else json.loads(value) for value in values]
