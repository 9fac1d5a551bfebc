from lake_assets_tests.commandline import result_of, sparkless_here
from lake_assets_tests.maintenance.lakes import WrittenLake
from lake_assets_tests.sample import silver_of

POKER = silver_of("poker")


def written(settings):
    """A lake of the shipped feed `games`."""
    lake = WrittenLake(settings, "games")
    lake.create(POKER, "poker")
    lake.append(POKER, 20)
    lake.committer.close()
    return lake


def test_it_says_what_it_would_do_and_what_it_did(settings):
    lake = written(settings)
    would = sparkless_here(settings, "maintain", "--dry-run")
    assert (would.returncode, would.stderr) == (0, "")
    assert "what would be done" in would.stdout
    assert len(lake.data(POKER)) == 20
    did = sparkless_here(settings, "maintain", "--key", "poker", "--json")
    (upkeep,) = result_of(did)
    told = {name: upkeep[name] for name in ("table", "layer", "joined", "into", "deleted", "notes")}
    assert told == {
        "table": POKER.name,
        "layer": "silver",
        "joined": 20,
        "into": 1,
        "deleted": 0,
        "notes": [],
    }
    assert len(lake.data(POKER)) == 21
    assert sparkless_here(settings, "maintain").stdout == "1 tables need nothing\n"


def test_an_empty_lake_needs_nothing(settings):
    done = sparkless_here(settings, "maintain")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 tables need nothing\n", "")


def test_an_unknown_key_is_refused(settings):
    done = sparkless_here(settings, "maintain", "--key", "nope")
    assert done.returncode == 1
    assert done.stderr.startswith("error: feed 'games': has no key 'nope'")


def test_a_dry_run_makes_no_lake(settings):
    done = sparkless_here(settings, "maintain", "--dry-run", "--json")
    assert result_of(done) == []
    assert not settings.lake_dir.exists()
