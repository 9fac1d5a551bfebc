import pytest

from docs_pages.commands import page
from lake_assets.cli.lazy_commands import SUMMARIES, load


@pytest.fixture(scope="module")
def text() -> str:
    return page()


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_has_a_section_with_all_its_options(name, text):
    _, rest = text.split(f"\n## `lake-assets {name}`\n")
    section = rest.split("\n## ")[0]
    command = load(name)
    commands = {name: command, **getattr(command, "commands", {})}
    assert [it for it in commands if f" {it}`\n" not in f"{text}\n"] == []
    options = [option for it in commands.values() for one in it.params for option in one.opts]
    assert [it for it in options if it.startswith("--") and it not in section] == []


def test_what_looks_like_a_tag_can_be_read(text):
    assert "&lt;home>/lake" in text
    assert "<home>" not in text
