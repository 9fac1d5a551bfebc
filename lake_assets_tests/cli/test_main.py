import pytest

from lake_assets.cli.lazy_commands import SUMMARIES
from lake_assets_tests.commandline import lake_assets, sparkless_here


def test_help_names_every_command(settings):
    shown = lake_assets(settings, "--help").stdout
    assert [name for name in SUMMARIES if name not in shown] == []


@pytest.mark.parametrize("name", SUMMARIES)
def test_every_command_explains_itself(settings, name):
    done = sparkless_here(settings, name, "--help")
    assert done.returncode == 0
    assert "Usage:" in done.stdout


@pytest.mark.parametrize("words", [("--verbose", "produce"), ("produce", "--verbose")])
def test_verbose_shows_the_trace_of_an_error(settings, words):
    done = lake_assets(settings, *words, "--events", "1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "ServiceError" in done.stderr


def test_a_wrong_setting_is_one_line_that_names_the_variable(settings):
    wrong = settings.model_copy(
        update={"stream": settings.stream.model_copy(update={"stall_after_s": -1.0})}
    )
    done = sparkless_here(wrong, "tables")
    assert done.returncode == 1
    assert done.stderr.startswith("error: LAKE_ASSETS_STREAM_STALL_AFTER_S")
    assert len(done.stderr.splitlines()) == 1
