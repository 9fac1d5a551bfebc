import subprocess
import sys
from pathlib import Path

import pytest

from docs_pages.hooks import PAGES, foreign_resources

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://example.com/a.js"></script>',
        '<link rel="preconnect" href="//fonts.example.com">',
        '<p><img alt="" src="http://example.com/a.png"></p>',
    ],
)
def test_what_a_browser_would_fetch_from_elsewhere_is_seen(html):
    assert len(foreign_resources(html)) == 1


def test_links_that_a_reader_may_follow_are_none_of_it():
    html = '<a href="https://example.com">there</a><link rel="stylesheet" href="a.css">'
    assert foreign_resources(html) == []


@pytest.mark.long
def test_the_site_is_built_without_a_warning_and_has_the_generated_pages(tmp_path):
    done = subprocess.run(  # noqa: S603 - our own documentation
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    built = [tmp_path / Path(address).with_suffix(".html") for address in PAGES]
    assert [path for path in built if not path.is_file()] == []
    assert (
        "LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS" in (tmp_path / "reference/settings.html").read_text()
    )
