"""The example of docs/billing.md, run as it stands."""

import re
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.databases import running_postgres

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PAGE = (Path(__file__).parents[2] / "docs" / "billing.md").read_text()

ADDRESS = "postgresql+psycopg://127.0.0.1/billing"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def told(view):
    """The rows that the page shows of a view, as text, and its columns."""
    after = PAGE[PAGE.index(f"`all_purchases_{view}`") :]
    (head, _, *rows) = re.findall(r"^\|(.*)\|$", after[: after.index("|\n\n")] + "|", re.MULTILINE)
    names, *values = ([cell.strip() for cell in row.split("|")] for row in (head, *rows))
    return names, sorted(values)


@pytest.fixture
def page(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("BILLING_PASSWORD", "not-asked-for")
    folder = tmp_path / "feeds"
    folder.mkdir()
    for name, lines in zip(("play", "clicks"), blocks("json"), strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.jsonl").write_text(lines)
    with running_postgres() as databases:
        database = databases()
        for text in blocks("yaml"):
            (name,) = re.findall("^feed: (.*)$", text, re.MULTILINE)
            here = text.replace(ADDRESS, database.url).replace("/data/", f"{tmp_path}/")
            (folder / f"{name}.yaml").write_text(here)
        yield settings.model_copy(update={"feeds": folder}), database


def run_commands(settings):
    for command in blocks("sh")[0].splitlines():
        program, *arguments = command.split()
        assert program == "lake-assets"
        done = lake_assets_here(settings, *arguments)
        assert done.returncode == 0, done.stderr


def rows_of(settings, table):
    return DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()


def shown(settings, view):
    """What a view's table has, in the columns that the page shows."""
    feed = find_feed(load_feeds(settings.feeds), "purchases")
    names, _ = told(view)
    rows = rows_of(settings, feed.gold_table(feed.view(view), "*"))
    return names, sorted([str(row[name]) for name in names] for row in rows)


@pytest.mark.long
def test_the_page_does_what_it_says(page):
    settings, database = page
    create, refund = blocks("sql")
    database.ask(create)
    run_commands(settings)
    for view in ("revenue_per_player", "first_purchase", "pages"):
        assert shown(settings, view) == told(view)
    database.ask(refund)
    run_commands(settings)
    feed = find_feed(load_feeds(settings.feeds), "purchases")
    assert len(rows_of(settings, feed.silver_table("purchases"))) == 4
    assert len(rows_of(settings, feed.gold_table(feed.view("current"), "purchases"))) == 3
    _, revenue = shown(settings, "revenue_per_player")
    assert ["bob", "0", "0.00", "1"] in revenue
