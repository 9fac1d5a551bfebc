from pathlib import Path

from lake_assets.cli.demo import show_once
from lake_assets.demo.once import OnceReport
from lake_assets_tests.commandline import sparkless_here


def test_a_bad_game_is_refused_before_anything_starts(settings):
    done = sparkless_here(settings, "demo", "--once", "--key", "../x")
    assert done.returncode == 1
    assert done.stderr.startswith("error: --key: '../x' cannot name a table")
    assert not settings.services_dir.exists()


def test_it_says_that_a_configured_lake_is_not_used(settings):
    """Before the games, which end it here, are looked at."""
    settings = settings.model_copy(update={"lake": Path("s3://bucket/lake")})
    said = sparkless_here(settings, "demo", "--once", "--key", "../x").stderr
    assert said.startswith("LAKE_ASSETS_LAKE is not used: the tables go to /")
    both = settings.model_copy(update={"state": Path("s3://bucket/lake/_state")})
    said = sparkless_here(both, "demo", "--once", "--key", "../x").stderr
    assert said.startswith("LAKE_ASSETS_LAKE and LAKE_ASSETS_STATE are not used: the tables go to")
    assert "error: --key" in said
    named = sparkless_here(settings, "demo", "--once", "--key", "../x", "--lake", "/tmp/x").stderr  # noqa: S108 - not made
    assert named.startswith("error: --key")


def test_it_says_where_the_tables_are(tmp_path, capsys):
    report = OnceReport(
        produced=5, feed="games", tables=[], dropped=0, judged={}, held={}, seconds={"stream": 1.0}
    )
    show_once(report, tmp_path, as_json=False)
    assert capsys.readouterr().out.splitlines()[-1] == f"the tables are in {tmp_path}"
