from lake_assets_tests.commandline import sparkless_here


def test_a_bad_game_is_refused_before_anything_starts(settings):
    done = sparkless_here(settings, "demo", "--once", "--games", "../x")
    assert done.returncode == 1
    assert done.stderr.startswith("error: --games: '../x' cannot name a table")
    assert not settings.services_dir.exists()
