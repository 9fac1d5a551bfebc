"""The example of docs/external-tables.md, run as it stands."""

import re
import shlex
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lake_assets.feeds.load import load_feeds
from lake_assets.model.tables import EVERY_KEY
from lake_assets_tests.commandline import lake_assets_here

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.slow]

PAGE = (Path(__file__).parents[2] / "docs" / "external-tables.md").read_text()


def block(language):
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return found


def test_the_page_does_what_it_says(settings, tmp_path):
    here = f"{tmp_path}/"
    feeds, plays = tmp_path / "feeds", tmp_path / "plays"
    feeds.mkdir()
    plays.mkdir()
    (feeds / "plays.yaml").write_text(block("yaml").replace("/data/", here))
    (plays / "1.jsonl").write_text(block("json"))
    exec(block("python").replace("/data/", here), {})  # noqa: S102 - the page's own program
    settings = settings.model_copy(update={"feeds": feeds})
    for command in block("sh").replace("/data/", here).splitlines():
        done = lake_assets_here(settings, *shlex.split(command)[1:])
        assert done.returncode == 0, done.stderr
    (feed,) = load_feeds(feeds)
    table = feed.gold_table(feed.view("by_country"), EVERY_KEY)
    rows = DeltaTable(settings.lake_dir / table.relative).to_pyarrow_table().to_pylist()
    shown = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert sorted(tuple(map(str, row.values())) for row in rows) == sorted(shown)
