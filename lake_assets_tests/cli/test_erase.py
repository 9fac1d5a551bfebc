import json
from uuid import uuid4

import pytest

from lake_assets_tests.commandline import sparkless_here


@pytest.fixture
def erase(settings):
    def go(*words):
        done = sparkless_here(settings, "erase", "--yes", *words)
        return done.returncode, done.stdout, done.stderr

    return go


def test_nobody_is_erased_from_an_empty_lake_and_that_is_proved(erase, tmp_path):
    values = tmp_path / "values"
    ann, bob = uuid4(), uuid4()  # of no other test: temporary files of all are looked at
    values.write_text(f"{ann}\n{bob}\n")
    code, out, err = erase("--column", "gamer_id", "--values", str(values), "--json")
    assert code == 0, err
    told = json.loads(out.splitlines()[-1])["result"]
    (one,) = told["erasures"]
    assert (one["state"], one["is_proved"]) == ("done", True)
    assert (told["rows"], told["left"], told["proof"]["found"]) == ({}, [], [])
    assert any("game-stream" in copy["what"] for copy in told["copies"])
    assert str(ann) not in out + err
    code, out, _ = erase("--list", "--json")
    (listed,) = json.loads(out.splitlines()[-1])["result"]
    assert (code, listed["id"], listed["column"]) == (0, one["id"], "gamer_id")
    assert "gamer_id" in erase("--list")[1]


def test_the_table_of_requests_is_made_where_there_is_none(erase, settings):
    assert erase("--requests", "--no-proof")[0] == 0
    assert (settings.lake_dir / "log" / "erasure_requests" / "_delta_log").is_dir()
    code, out, _ = erase("--again", "--no-proof")
    assert code == 0
    assert "no table had such rows" in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "Give --column and --value or --values; or --requests; or --again"),
        (("--column", "gamer_id"), "an erasure: names no value"),
        (("--value", "ann"), "--column: is empty"),
        (("--column", "gamer_id", "--value", " "), "a value of gamer_id: is empty"),
        (("--column", "gamer_id", "--value", "ann", "--again"), "or of what is not done"),
        (("--column", "gamer_id", "--values", "/none"), "/none: cannot be read"),
        (("--column", "gamer_id", "--value", "ann", "--later", "keep"), "services up"),
    ],
)
def test_what_is_not_to_be_done_is_said_and_nothing_is_noted(erase, settings, words, complaint):
    code, _, err = erase(*words)
    assert code == (2 if "an erasure: is of" in err else 1)
    assert complaint in err
    assert not (settings.lake_dir / "_erasures" / "ledger.json").exists()


def test_a_dry_run_makes_no_lake(settings):
    asked = ("--column", "gamer_id", "--value", "ann", "--dry-run", "--json")
    done = sparkless_here(settings, "erase", *asked)
    assert json.loads(done.stdout.splitlines()[-1])["result"] == {"is_dry_run": True, "rows": {}}
    assert not settings.lake_dir.exists()
