"""What MkDocs calls while it builds the site: adds generated pages, refuses foreign resources.

What is on the pages is for the other modules.
"""

from html.parser import HTMLParser

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs_pages import commands, feeds, settings

PAGES = {
    "reference/feeds.md": feeds.page,
    "reference/settings.md": settings.page,
    "reference/commands.md": commands.page,
}
"""By address within the site, what writes the page."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to those of `docs/`."""
    for address, page in PAGES.items():
        files.append(File.generated(config, address, content=page()))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Let the page pass as it is.

    Raises:
        PluginError: a browser would fetch something of it from elsewhere.
    """
    del config
    addresses = foreign_resources(output)
    if addresses:
        raise PluginError(f"{page.file.src_uri}: would load {', '.join(addresses)}")
    return output


def foreign_resources(html: str) -> list[str]:
    """Addresses on other machines that a browser loads with a page, without being asked to."""
    reader = _Resources()
    reader.feed(html)
    return reader.foreign


class _Resources(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.foreign: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        is_loaded = tag == "link" and given.get("rel") != "canonical"
        address = given.get("src") or (given.get("href") if is_loaded else None) or ""
        if address.startswith(("http:", "https:", "//")):
            self.foreign.append(address)
