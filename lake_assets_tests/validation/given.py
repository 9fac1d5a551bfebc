"""Feeds for tests of validation: a good one, and what is put into it."""

from pathlib import Path

from lake_assets.errors import FeedError
from lake_assets.settings.schema import Settings
from lake_assets.validation.run import Report, validate

HEAD = """feed: play
source: {kafka: {topic: t}}
payload:
  json:
    schema: >-
      at timestamp, game string, player string, score int, tags map<string, string>,
      items array<struct<id: string, n: int>>, device struct<os: string, ver: int>
route: {column: game, keys: [poker, uno]}
"""


def report_of(folder: Path, text: str, *, second=None, endpoints=None, **settings) -> Report:
    """What is found of a feed."""
    (folder / "feeds").mkdir(exist_ok=True)
    (folder / "feeds" / "f.yaml").write_text(text)
    found = Settings(home=folder / "home", feeds=folder / "feeds", **settings)
    return validate(found, lambda _: endpoints, second=second)


def told(error: FeedError) -> str:
    """An error as `line:column fact. step`."""
    return f"{error.line}:{error.column} {error.fact}. {error.next_step}"
