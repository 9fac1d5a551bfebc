import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_origin import RemoteJobOrigin
from pydantic import SecretStr

from lake_assets.defs.code_version import CODE, code_version, is_outdated
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings
from lake_assets.settings.upkeep import BackupSettings
from lake_assets_tests.defs.origins import REPOSITORY
from lake_assets_tests.sample import GAMES

SELECTOR = REPOSITORY.get_selector_id()


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    (tmp_path / "feeds").mkdir()
    (tmp_path / "feeds" / "cleaning.py").write_text("x = 1")
    return settings.model_copy(update={"feeds": tmp_path / "feeds"})


def test_the_same_code_has_one_version_in_every_process(settings):
    program = (
        "from lake_assets.defs.code_version import code_version;"
        "from lake_assets.settings.load import load_settings;"
        "from lake_assets_tests.sample import GAMES; print(code_version(load_settings(), [GAMES]))"
    )
    told = {
        subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", program],
            env={**child_environment(settings), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert told == {code_version(settings, [GAMES])}


def test_what_streams_run_makes_the_version_and_no_secret_does(settings):
    before = code_version(settings, [GAMES])
    scheduled = GAMES.model_copy(update={"feed": "other", "run": "0 * * * *"})
    assert code_version(settings, [GAMES, scheduled]) == before
    assert code_version(settings, [GAMES.model_copy(update={"feed": "other"})]) != before
    secret = {"aws_secret_access_key": SecretStr("old")}
    versions = {
        code_version(
            settings.model_copy(update={"backup": BackupSettings(options=options)}), [GAMES]
        )
        for options in (secret, {"aws_secret_access_key": SecretStr("new")})
    }
    assert len(versions) == 1
    (settings.feeds / "cleaning.py").write_text("x = 2")
    assert code_version(settings, [GAMES]) != before


def test_packages_beside_feeds_are_code_and_what_an_editor_leaves_is_none(settings):
    before = code_version(settings, [GAMES])
    (settings.feeds / ".#cleaning.py").symlink_to("anna@laptop.42")
    (settings.feeds / "folder.py").mkdir()
    assert code_version(settings, [GAMES]) == before
    inner = settings.feeds / "enrich" / "inner"
    inner.mkdir(parents=True)
    (settings.feeds / "enrich" / "__init__.py").write_text("")
    (inner / "rates.py").write_text("x = 1")
    packaged = code_version(settings, [GAMES])
    assert packaged != before
    (inner / "rates.py").write_text("x = 2")
    assert code_version(settings, [GAMES]) not in {before, packaged}


@dg.job
def streams():
    """Stands for the streams' job."""


@pytest.fixture
def outdated(instance):
    """Whether a run is outdated for who loaded other code, so much later."""

    def ask(*, code="old", loaded_later_s=60.0, of=SELECTOR, status=dg.DagsterRunStatus.STARTED):
        run = instance.create_run_for_job(
            streams,
            tags={CODE: code} if code else {},
            status=status,
            remote_job_origin=RemoteJobOrigin(REPOSITORY, "streams"),
        )
        record = instance.get_run_record_by_id(run.run_id)
        return is_outdated(record, "new", of, loaded_at=time.time() + loaded_later_s)

    return ask


def test_streams_of_an_older_load_are_outdated_for_the_newer_alone(outdated):
    assert outdated()
    assert not outdated(code="new")
    assert not outdated(loaded_later_s=-60)


def test_streams_of_another_location_or_of_unknown_code_are_left_alone(outdated):
    assert not outdated(of="another")
    assert not outdated(of=None)
    assert not outdated(code=None)
    assert not outdated(status=dg.DagsterRunStatus.CANCELING)
