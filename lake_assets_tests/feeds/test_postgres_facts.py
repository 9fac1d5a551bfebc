import re
from pathlib import Path

import pytest

from lake_assets.errors import FeedError
from lake_assets.feeds.load import load_feeds

FEED = """
feed: purchases
source:
  postgres:
    url: postgresql://db.example.com/billing
    table: public.purchases
    watermark: updated_at
    key: [purchase_id]
payload: {json: {schema: "id int"}}
run: "0 * * * *"
"""


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ('run: "0 * * * *"', "", "is read on a schedule. Give one"),
        ("{json:", "{csv:", "rows of PostgreSQL go with `json`, not with `csv`"),
        ('{json: {schema: "id int"}}', "{json: {subject: x}}", "no registered schema"),
        ("payload", "route: {header: kind, keys: [a]}\npayload", "PostgreSQL have no header"),
        ("postgresql://db", "mysql://db", "is no address of PostgreSQL"),
        ("//db.example", "//me:secret@db.example", "Move them into `user` and `password`"),
        ("public.purchases", "a.b.c", "is no table"),
        ("[purchase_id]", "[]", "key"),
        ("[purchase_id]", "[a, a]", "a"),
        ("[purchase_id]", "[purchase_id]\n    late: 0", "late"),
        ("[purchase_id]", "[purchase_id]\n    late: soon", "late"),
        ("[purchase_id]", "[purchase_id]\n    password: secret", "must be {env: NAME}, the env"),
        ("id int", "_ordinal int", "_ordinal"),
    ],
)
def test_what_a_table_of_postgresql_has_not_is_refused(tmp_path, right, wrong, told):
    assert right in FEED
    (tmp_path / "purchases.yaml").write_text(FEED.replace(right, wrong))
    with pytest.raises(FeedError, match=re.escape(told)):
        load_feeds(tmp_path)


@pytest.mark.parametrize("late", ["10m", "500"])
def test_a_feed_is_told_by_its_table_and_database(tmp_path, late):
    text = FEED.replace("[purchase_id]", f"[purchase_id]\n    late: {late}")
    (tmp_path / "purchases.yaml").write_text(text)
    (feed,) = load_feeds(tmp_path)
    title = "table 'public.purchases' of postgresql://db.example.com/billing"
    assert feed.source.declared.title == title


def test_the_page_s_feed_is_one(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "postgres-source.md").read_text()
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "purchases.yaml").write_text(text)
    (feed,) = load_feeds(tmp_path)
    assert feed.is_triggered
    assert feed.source.postgres.late is None
