from lake_assets.cli.demo import show_once
from lake_assets.demo.once import OnceReport
from lake_assets_tests.commandline import sparkless_here


def test_a_bad_game_is_refused_before_anything_starts(settings):
    done = sparkless_here(settings, "demo", "--once", "--games", "../x")
    assert done.returncode == 1
    assert done.stderr.startswith("error: --games: '../x' cannot name a table")
    assert not settings.services_dir.exists()


def test_it_says_where_the_tables_are(tmp_path, capsys):
    report = OnceReport(
        produced=5, feed="games", tables=[], dropped=0, judged={}, held={}, seconds={"stream": 1.0}
    )
    show_once(report, tmp_path, as_json=False)
    assert capsys.readouterr().out.splitlines()[-1] == f"the tables are in {tmp_path}"
