"""docs/runbooks, page by page: what each shows is done, and what it says comes of it."""

import re

import pytest

from lake_assets.model.quarantine import Reason
from lake_assets.settings.schema import KafkaSettings, RegistrySettings
from lake_assets_tests.commandline import lake_assets_here, sparkless_here
from lake_assets_tests.databases import running_postgres
from lake_assets_tests.e2e.asked_registry import asked_registry
from lake_assets_tests.e2e.runbook import PAGES, Reader
from lake_assets_tests.e2e.runbook_steps import STEPS
from lake_assets_tests.events import Topic, framed
from lake_assets_tests.long_parameters import with_long

DOCS = PAGES.parent


def feed_of_the_runbooks():
    """The feed that all pages begin with."""
    (feed,) = re.findall(
        r"```yaml\n(# feeds/plays.yaml\n.*?)```", (DOCS / "operations.md").read_text(), re.DOTALL
    )
    return feed


@pytest.fixture
def database():
    """A database of PostgreSQL, for the pages that use one."""
    with running_postgres() as databases:
        yield databases()


@pytest.fixture
def reader(settings, services, tmp_path, request):
    """Somebody with a topic, the feed that reads it, and an empty lake."""
    topic = Topic(services)
    topic.create(partitions=1)
    (tmp_path / "feeds").mkdir()
    own = {
        "feeds": tmp_path / "feeds",
        "lake": tmp_path / "lake",
        "kafka": KafkaSettings(bootstrap_servers=services.kafka),
    }
    here = {
        "topic: plays": f"topic: {topic.name}",
        "topics: [plays, plays": f"topics: [{topic.name}, {topic.name}",
        "--topic plays": f"--topic {topic.name}",
        "trace plays/": f"trace {topic.name}/",
        "/data/": f"{tmp_path}/",
    }
    reader = Reader(
        settings=settings.model_copy(update=own),
        folder=tmp_path,
        here=here,
        steps=STEPS,
        topic=topic,
        fixture=request.getfixturevalue,
    )
    (tmp_path / "feeds" / "plays.yaml").write_text(reader.in_place(feed_of_the_runbooks()))
    return reader


NAMES = sorted(path.stem for path in PAGES.glob("*.md"))


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.parametrize("page", with_long(NAMES, long={*NAMES} - {"backup", "keys"}))
def test_the_page_does_what_it_says(page, reader):
    reader.follow((PAGES / f"{page}.md").read_text())
    assert reader.done


def test_the_page_of_quarantine_has_each_reason_once():
    page = (PAGES / "quarantine.md").read_text().split("## The reasons")[1]
    told = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted(told) == sorted(Reason)


def test_the_guide_names_each_runbook():
    guide = (DOCS / "operations.md").read_text()
    assert [
        path.name for path in PAGES.glob("*.md") if f"(runbooks/{path.name})" not in guide
    ] == []


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.slow
def test_the_page_of_rights_names_all_that_is_asked_of_a_registry(connected, services, tmp_path):
    topic = Topic(services)
    another = topic.register_text("message other { string a = 1; }", under=f"{topic.name}-other")
    topic.produce(framed(topic.register(0)), framed(topic.register(1), version=1), framed(another))
    text = (connected.feeds / "games.yaml").read_text().replace("game-stream", topic.name)
    (tmp_path / "feeds").mkdir()
    (tmp_path / "feeds" / "games.yaml").write_text(text)
    with asked_registry(services.registry) as (url, asked):
        own = {"feeds": tmp_path / "feeds", "registry": RegistrySettings(url=url)}
        settings = connected.model_copy(update=own)
        assert sparkless_here(settings, "doctor").returncode == 0
        done = lake_assets_here(settings, "stream", "--until-caught-up")
        assert done.returncode == 0, done.stderr
    page = (PAGES / "permissions.md").read_text().split("## Schema registry")[1].split("\n## ")[0]
    told = set(re.findall(r"`(GET [^`]+)`", page))
    # An id that is registered after the versions were listed is asked for by itself.
    assert told - {"GET /schemas/ids/{id}"} <= asked <= told
