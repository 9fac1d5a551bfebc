"""A lake with one feed, worked on by commands as from a shell, and by others through Spark SQL."""

from lake_assets_tests.commandline import lake_assets_here
from lake_assets_tests.events import Topic, framed

FEED = """
feed: games
source: {{kafka: {{topic: {topic}}}}}
payload: {{protobuf: {{subject: {topic}-value}}}}
route: {{column: game_name, keys: [{keys}]}}
expectations: [{expectations}]
gold:
  - {{name: agg, keys: [gamer_id], measures: {{events: count(*)}}}}
"""


class World:
    """Its feed file may change between commands."""

    def __init__(self, settings, services, folder):
        folder.mkdir()
        self.topic = Topic(services)
        self.known = self.topic.register(0)
        self.settings = settings.model_copy(update={"feeds": folder})
        self.declare()

    def declare(self, *, keys="uno", expectations=""):
        text = FEED.format(topic=self.topic.name, keys=keys, expectations=expectations)
        (self.settings.feeds / "games.yaml").write_text(text)

    def produce(self, *gamers, key="uno"):
        return self.topic.produce(*(framed(self.known, key, gamer=gamer) for gamer in gamers))

    def run(self, *arguments):
        done = lake_assets_here(self.settings, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refused(self, *arguments):
        done = lake_assets_here(self.settings, *arguments)
        assert done.returncode == 1, done.stdout
        return done.stderr

    def path(self, table):
        return self.settings.lake_dir / table.relative
