"""docs/runbooks, page by page: what each shows is done, and what it says comes of it."""

import re

import pytest

from lake_assets.settings.schema import KafkaSettings
from lake_assets_tests.e2e.runbook import PAGES, Reader
from lake_assets_tests.e2e.runbook_steps import STEPS
from lake_assets_tests.events import Topic

DOCS = PAGES.parent

WITH_SERVICES = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.slow,
]


def feed_of_the_runbooks():
    """The feed that all pages begin with."""
    text = (DOCS / "operations.md").read_text().split("## Runbooks")[1]
    (feed,) = re.findall(r"```yaml\n(# feeds/plays.yaml\n.*?)```", text, re.DOTALL)
    return feed


@pytest.fixture
def reader(settings, services, tmp_path):
    topic = Topic(services)
    topic.create(partitions=1)
    (tmp_path / "feeds").mkdir()
    kafka = KafkaSettings(bootstrap_servers=services.kafka)
    own = settings.model_copy(update={"feeds": tmp_path / "feeds", "kafka": kafka})
    here = {
        "topic: plays": f"topic: {topic.name}",
        "plays/0": f"{topic.name}/0",
        "/data/": f"{tmp_path}/",
    }
    reader = Reader(settings=own, folder=tmp_path, here=here, steps=STEPS, topic=topic)
    (tmp_path / "feeds" / "plays.yaml").write_text(reader.in_place(feed_of_the_runbooks()))
    return reader


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.md")))
def test_the_page_does_what_it_says(page, reader):
    reader.follow((PAGES / page).read_text())
    assert reader.done
