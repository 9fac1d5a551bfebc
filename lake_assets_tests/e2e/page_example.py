"""The example of a page about a registered format: its feed, and the program that sends rows."""

import re
import subprocess
import sys
from pathlib import Path

from deltalake import DeltaTable

from lake_assets.feeds.load import load_feeds
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings
from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.events import Topic

DOCS = Path(__file__).parents[2] / "docs"


def run_example(page, name, topic: Topic, settings: Settings, folder: Path):
    """Send and stream the rows of a page's example.

    Args:
        page: of `docs`, with one program, and one feed whose payload has a subject.
        name: of the feed, as which the page's topic and subject are called.
        topic: in place of it.
        settings: where the lake is.
        folder: of feeds; is made.

    Returns:
        The settings with the page's feed, and what silver has by key.
    """
    text = (DOCS / page).read_text()
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    feeds = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    (declared,) = [one for one in feeds if re.search("subjects?:", one) and "source:" in one]
    folder.mkdir()
    (folder / f"{name}.yaml").write_text(
        re.sub("(topic: |subject: |subjects: ')" + name, rf"\1{topic.name}", declared)
    )
    settings = settings.model_copy(update={"feeds": folder})
    (feed,) = load_feeds(folder)
    topic.produce()
    produced = subprocess.run(  # noqa: S603 - the page's own program
        [sys.executable, "-c", program.replace(f'"{name}"', f'"{topic.name}"')],
        env=child_environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert produced.returncode == 0, produced.stderr
    streamed = lake_assets_here(settings, "stream", "--until-caught-up")
    assert streamed.returncode == 0, streamed.stderr
    return settings, {
        key: DeltaTable(settings.lake_dir / feed.silver_table(key).relative).to_pyarrow_table()
        for key in feed.keys
    }
