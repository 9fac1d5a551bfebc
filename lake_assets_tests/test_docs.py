"""What the documentation names is there: paths, modules, commands, decisions, a feed."""

import re
import tomllib
from pathlib import Path

import pytest

from docs_pages.settings import page as page_of_settings
from lake_assets.cli.lazy_commands import SUMMARIES
from lake_assets.feeds.load import load_feeds

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
DECISIONS = sorted((DOCS / "decisions").glob("0*.md"))


def exists(name: str) -> bool:
    """Whether a path is there as it stands, or below the package."""
    return (ROOT / name).exists() or (ROOT / "lake_assets" / name).exists()


def spans(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


def test_every_path_that_the_architecture_names_exists():
    named = spans((DOCS / "architecture.md").read_text())
    paths = [name for name in named if re.fullmatch(r"[\w./]+(/|\.(py|md|yaml|yml|xml|txt))", name)]
    assert len(paths) > 30
    assert [path for path in paths if not exists(path)] == []


def test_every_module_on_a_rows_way_exists():
    section = (DOCS / "architecture.md").read_text().split("## A row's way")[1].split("\n## ")[0]
    modules = [name for name in spans(section) if re.fullmatch(r"[a-z_]+(\.[a-z_]+)?", name)]
    assert len(modules) > 10
    lost = [
        name for name in modules if not exists(name.replace(".", "/") + ".py") and not exists(name)
    ]
    assert lost == []


def test_the_picture_has_the_floors_that_the_linter_holds():
    picture = (DOCS / "architecture.md").read_text().split("```")[1]
    drawn = [re.split(r"\s{2,}", line)[0] for line in picture.strip().splitlines()]
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert drawn == linter["contracts"][0]["layers"]


def test_where_to_change_has_at_least_fifteen_rows():
    section = (DOCS / "architecture.md").read_text().split("## Where to change")[1]
    assert len(re.findall(r"^\| .* \| .*`.* \|$", section, re.MULTILINE)) >= 15


def test_the_index_of_decisions_has_each_once_under_its_title():
    index = (DOCS / "decisions" / "README.md").read_text()
    for path in DECISIONS:
        number, title = path.read_text().splitlines()[0].removeprefix("# ").split(". ", 1)
        assert int(path.name[:4]) == int(number)
        assert index.count(f"| {number} | [{title}]({path.name}) |") == 1


def test_no_text_refers_to_a_decision_that_is_gone():
    there = {int(path.name[:4]) for path in DECISIONS}
    sources = [
        *PAGES,
        *(path for name in ("lake_assets", "benchmarks") for path in (ROOT / name).rglob("*.py")),
    ]
    history = {ROOT / "CHANGELOG.md", DOCS / "decisions" / "README.md"}
    named = {
        (path.relative_to(ROOT), int(number))
        for path in sources
        if path not in history
        for number in re.findall(r"\bdecisions?[ /](\d+)", path.read_text())
    }
    assert len(named) > 10
    assert [(str(path), number) for path, number in named if number not in there] == []


@pytest.mark.parametrize("page", [*PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_examples_are_commands(page):
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    named = re.findall(r"lake-assets ([a-z]+)", "\n".join(blocks))
    assert [name for name in named if name not in SUMMARIES] == []


def test_every_setting_that_a_page_names_is_one():
    known = set(re.findall(r"^\| `(LAKE_ASSETS_\w+)` \|", page_of_settings(), re.MULTILINE))
    history = {ROOT / "CHANGELOG.md", *DECISIONS}
    named = {
        (str(page.relative_to(ROOT)), name)
        for page in PAGES
        if page not in history
        for name in re.findall(r"\bLAKE_ASSETS_[A-Z_]*[A-Z]\b", page.read_text())
    }
    assert len(named) > 100
    in_general = {("README.md", "LAKE_ASSETS_G_X")}
    assert {
        (page, name)
        for page, name in named
        if not {name, re.sub("_(FILE|COMMAND)$", "", name)} & known
    } == in_general


def test_each_page_that_a_mistake_in_a_feed_names_is_there():
    text = (ROOT / "lake_assets" / "feeds" / "explain.py").read_text()
    named = re.findall(r'": "([a-z-]+\.md)"', text)
    assert len(named) > 15
    assert [page for page in named if not (DOCS / page).is_file()] == []


def test_the_feed_of_the_tutorial_is_a_feed(tmp_path):
    tutorial = (DOCS / "tutorial.md").read_text()
    (text,) = re.findall(r"```yaml\n(.*?)```", tutorial, re.DOTALL)
    (tmp_path / "orders.yaml").write_text(text)
    (feed,) = load_feeds(tmp_path)
    assert (feed.feed, feed.route.column, len(feed.gold)) == ("orders", "shop", 1)
