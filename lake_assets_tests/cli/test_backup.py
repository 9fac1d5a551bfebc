from lake_assets.settings.upkeep import BackupSettings
from lake_assets_tests.backup.lakes import FISH, UNO, BatchedLake, rows_in
from lake_assets_tests.commandline import answer_of, result_of, sparkless_here
from lake_assets_tests.erasure.lakes import PeopledLake
from lake_assets_tests.storage.servers import run_s3


def written(settings):
    lake = BatchedLake(settings)
    lake.ingest()
    lake.demux(UNO, FISH)
    lake.refresh()
    lake.committer.close()


def test_a_lake_is_backed_up_looked_at_and_put_back(settings, tmp_path):
    written(settings)
    place = str(tmp_path / "pl ace %20 [red]")
    done = sparkless_here(settings, "backup", place)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"backup 1 in {place}: 5 tables, ")
    assert "4 files (" in done.stdout
    again = result_of(sparkless_here(settings, "backup", place, "--json"))
    assert (again["backup"], again["copied_files"], again["rows"][UNO.relative]) == (2, 0, 1)
    told = sparkless_here(settings, "backup", place, "--verify").stdout
    assert told.startswith("backup 2 of 20")
    assert "is whole: 5 tables" in told
    elsewhere = settings.model_copy(update={"home": tmp_path / "elsewhere"})
    back = sparkless_here(elsewhere, "restore", place, "--backup", "1")
    assert (back.returncode, back.stderr) == (0, "")
    assert f"5 tables in {elsewhere.lake_dir}, as they were at 20" in back.stdout
    assert "it is a lake of its own (" in back.stdout
    assert rows_in(elsewhere) == rows_in(settings)
    forced = result_of(sparkless_here(elsewhere, "restore", place, "--force", "--yes", "--json"))
    assert (forced["backup"], forced["is_other"]) == (2, True)


def test_what_is_wrong_with_a_backup_is_told_and_the_command_fails(settings, tmp_path):
    written(settings)
    place = tmp_path / "place"
    sparkless_here(settings, "backup", str(place))
    file = next(place.glob("data/silver/**/*.parquet"))
    file.write_bytes(bytes(file.stat().st_size))
    done = sparkless_here(settings, "backup", str(place), "--verify")
    assert done.returncode == 1
    assert "its checksum is another one" in done.stderr
    asked = sparkless_here(settings, "backup", str(place), "--verify", "--json")
    assert asked.returncode == 1
    assert len(answer_of(asked)["problems"]) == 1


def test_a_lake_with_rows_is_not_replaced_unasked(settings, tmp_path):
    written(settings)
    place = str(tmp_path / "place")
    sparkless_here(settings, "backup", place)
    done = sparkless_here(settings, "restore", place)
    assert done.returncode == 1
    assert "--force" in done.stderr


def test_a_bucket_s_options_are_settings(settings, tmp_path):
    written(settings)
    with run_s3() as s3:
        s3.make_bucket("kept")
        own = settings.model_copy(update={"backup": BackupSettings(options=s3.options)})
        done = sparkless_here(own, "backup", "s3://kept/lake", "--keep", "1")
        assert (done.returncode, done.stderr) == (0, "")
        elsewhere = own.model_copy(update={"home": tmp_path / "elsewhere"})
        back = sparkless_here(elsewhere, "restore", "s3://kept/lake")
    assert (back.returncode, back.stderr) == (0, "")
    assert rows_in(elsewhere) == rows_in(settings)


def test_what_does_not_go_together_is_refused(settings, tmp_path):
    place = str(tmp_path / "place")
    assert "goes with --verify" in sparkless_here(settings, "backup", place, "--backup", "1").stderr
    both = sparkless_here(settings, "backup", place, "--verify", "--keep", "1")
    assert (both.returncode, "does not go with --verify" in both.stderr) == (2, True)


def test_without_a_place_it_goes_to_the_target_of_the_settings(settings, tmp_path):
    written(settings)
    refused = sparkless_here(settings, "backup")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "LAKE_ASSETS_BACKUP_TARGET: is not set. Name a place of backups" in refused.stderr
    target = BackupSettings(target=str(tmp_path / "place"))
    wanted = settings.model_copy(update={"backup": target})
    assert sparkless_here(wanted, "backup").stdout.startswith(f"backup 1 in {tmp_path}/place: ")
    assert sparkless_here(wanted, "backup", "--verify").returncode == 0


def test_a_lake_restored_in_place_of_one_that_is_gone_takes_its_place_over(settings, tmp_path):
    written(settings)
    place = str(tmp_path / "place")
    sparkless_here(settings, "backup", place)
    settings.home.rename(tmp_path / "gone")
    back = sparkless_here(settings, "restore", place)
    assert f"run `lake-assets backup {place} --take-over` once" in back.stderr
    refused = sparkless_here(settings, "backup", place)
    assert refused.returncode == 1
    assert "was made by another copy of this lake" in " ".join(refused.stderr.split())
    assert sparkless_here(settings, "backup", place, "--take-over").returncode == 0
    assert sparkless_here(settings, "backup", place).returncode == 0
    again = sparkless_here(settings, "restore", place, "--force", "--yes")
    assert (again.returncode, again.stderr) == (0, "")


def test_a_restore_tells_what_is_erased_and_older_backups_make_way(settings, tmp_path):
    lake = PeopledLake(settings)
    lake.take("ann-7f3a", "bob-11aa")
    lake.committer.close()
    place, elsewhere = str(tmp_path / "place"), tmp_path / "elsewhere"
    sparkless_here(settings, "backup", place)
    erase = ("erase", "--column", "gamer_id", "--value", "ann-7f3a", "--no-proof", "--yes")
    done = sparkless_here(settings, *erase)
    assert done.returncode == 1
    assert f"not done yet: backups in {place} are from before it" in done.stdout
    into = settings.model_copy(update={"home": elsewhere})
    back = sparkless_here(into, "restore", place)
    assert back.returncode == 0
    assert f"rows that are erased were not brought: of bronze_games (1), {UNO.name} (1)" in (
        back.stderr
    )
    assert "run `lake-assets erase --again`" in back.stderr
    pruned = sparkless_here(settings, *erase, "--prune-backups")
    assert pruned.returncode == 0
    assert result_of(sparkless_here(settings, "backup", place, "--json"))["backup"] == 3


def test_a_place_that_is_gone_is_forgotten(settings, tmp_path):
    written(settings)
    place = str(tmp_path / "place")
    sparkless_here(settings, "backup", place)
    assert sparkless_here(settings, "backup", place, "--forget").stdout == (
        f"{place} is known of no longer\n"
    )
    assert "was not known of" in sparkless_here(settings, "backup", place, "--forget").stdout
