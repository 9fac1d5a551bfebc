import json

from lake_assets.feeds.json_schema import feed_schema
from lake_assets_tests.commandline import sparkless_here


def test_the_schema_of_feeds_is_printed(settings):
    done = sparkless_here(settings, "schema", "feed")
    assert (done.returncode, json.loads(done.stdout)) == (0, feed_schema())


def test_it_is_written_where_a_file_is_named(settings, tmp_path):
    path = tmp_path / "feed.schema.json"
    done = sparkless_here(settings, "schema", "feed", "--output", str(path))
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads(path.read_text()) == feed_schema()


def test_a_file_that_cannot_be_written_is_told(settings, tmp_path):
    done = sparkless_here(settings, "schema", "feed", "--output", str(tmp_path))
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
