import pytest

from lake_assets_tests.backup.lakes import UNO, BatchedLake
from lake_assets_tests.commandline import in_a_terminal, result_of, sparkless_here


@pytest.fixture
def lake(settings):
    made = BatchedLake(settings)
    made.ingest()
    for _ in range(3):
        made.demux(UNO)
    made.committer.close()
    return made


def put_back(lake, *options):
    return sparkless_here(lake.settings, "restore", "--table", UNO.relative, *options)


def test_what_follows_is_told_and_asked_for_in_a_terminal(lake):
    words = ("restore", "--table", UNO.relative, "--version", "1")
    code, said = in_a_terminal(lake.settings, *words, typed="n\n")
    assert code == 1
    said = " ".join(said.split())
    assert f"{UNO.relative}: version 3 (3 rows) becomes what 1 was (1 rows)" in said
    assert "stay away, from gold as well, until `lake-assets rebuild silver --key uno`" in said
    assert "Go on?" in said
    assert lake.version(UNO) == 3
    code, said = in_a_terminal(lake.settings, *words, typed="y\n")
    assert code == 0, said
    assert len(lake.numbers(UNO)) == 1


def test_without_a_terminal_nobody_is_asked_and_nothing_done(lake):
    done = put_back(lake, "--version", "1")
    assert done.returncode == 2
    assert "--yes: is needed, since there is no terminal to ask in" in done.stderr
    looked = put_back(lake, "--version", "1", "--dry-run")
    assert (looked.returncode, looked.stdout) == (0, "nothing was changed\n")
    assert "version 3 (3 rows) becomes what 1 was (1 rows)" in looked.stderr
    assert lake.version(UNO) == 3


def test_it_need_not_be_asked_for(lake):
    done = put_back(lake, "--version", "1", "--yes")
    assert done.stdout == f"{UNO.relative} is what it was in version 1 again\n"
    again = result_of(put_back(lake, "--version", "1", "--yes", "--json"))
    assert again == {
        "table": UNO.relative,
        "version": 1,
        "rows": 1,
        "changed": False,
        "is_dry_run": False,
    }


def test_a_time_may_be_named(lake):
    done = put_back(lake, "--at", "2100-01-01T00:00", "--yes")
    assert done.stdout == f"{UNO.relative} is what it was in version 3\n"
    early = put_back(lake, "--at", "2000-01-01", "--yes")
    assert "cannot be put back: there was no table" in early.stderr


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--table", UNO.relative], "needs one of --version and --at"),
        (["--table", UNO.relative, "--version", "1", "--at", "2"], "needs one of"),
        (["--table", UNO.relative, "/place", "--version", "1"], "does not go with a backup"),
        (["--table", "uno", "--version", "1"], "is no table: 'uno'"),
        (["--table", "silver/../x", "--version", "1"], "is no table"),
        (["/place", "--version", "1"], "does not go with a backup; name --table"),
        ([], "is missing. Name a place of backups, or a --table"),
    ],
)
def test_what_does_not_go_together_is_refused(settings, options, reason):
    done = sparkless_here(settings, "restore", *options)
    assert (done.returncode, reason in " ".join(done.stderr.split())) == (2, True)
