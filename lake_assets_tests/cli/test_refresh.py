from lake_assets_tests.commandline import lake_assets


def test_an_unknown_view_is_refused_with_those_there_are(settings):
    done = lake_assets(settings, "refresh", "--view", "nothing")
    assert done.returncode == 1
    assert done.stderr == "error: feed 'games': has no gold view 'nothing'. It has player_agg\n"


def test_an_unknown_game_is_refused_with_those_there_are(settings):
    done = lake_assets(settings, "refresh", "--game", "chess")
    assert done.returncode == 1
    assert done.stderr.startswith("error: feed 'games': has no game 'chess'. It has rummy, spades")
