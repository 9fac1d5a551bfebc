import json

import pytest

from lake_assets_tests.commandline import (
    answer_of,
    lake_assets,
    lake_assets_here,
    result_of,
    sparkless_here,
)
from lake_assets_tests.validation.given import HEAD

WRONG = f"{HEAD}cluster_by: [plyer]\nexpectations: [{{name: e, sql: player is nott null}}]\n"


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "own feeds"
    found.mkdir()
    return found


def test_what_is_wrong_comes_with_its_place_and_exit_code_1(settings, folder):
    (folder / "f.yaml").write_text(WRONG)
    (folder / "g.yaml").write_text("feed: [\n")
    done = sparkless_here(settings, "validate", "--quick", "--feeds", str(folder))
    assert done.returncode == 1
    first, second, third, last = done.stdout.splitlines()
    path = folder / "f.yaml"
    assert first == f"{path}:9:14: error: cluster_by[0]: there is no column `plyer`. Write `player`"
    assert second.startswith(f"{path}:10:41: error: expectations[0].sql: there is no column `nott`")
    assert third.startswith(f"{folder / 'g.yaml'}:2:1: error: is not YAML: ")
    assert last == "3 problems"
    assert done.stderr == ""


def test_paths_below_the_folder_that_it_runs_in_are_short(settings, folder, monkeypatch):
    (folder / "f.yaml").write_text(WRONG)
    monkeypatch.chdir(folder.parent)
    done = sparkless_here(settings, "validate", "--quick", "--feeds", "own feeds")
    assert done.stdout.startswith("own feeds/f.yaml:9:14: error: ")


def test_json_has_each_problem_with_its_place(settings, folder):
    (folder / "f.yaml").write_text(WRONG)
    done = sparkless_here(settings, "validate", "--quick", "--json", "--feeds", str(folder))
    answer = answer_of(done)
    assert (answer["command"], answer["ok"]) == ("validate", False)
    assert answer["result"] == {"feeds": ["play"], "errors": 2, "warnings": 0}
    assert answer["problems"][0] == {
        "severity": "error",
        "what": f"{folder / 'f.yaml'}, line 9",
        "fact": "cluster_by[0]: there is no column `plyer`",
        "next_step": "Write `player`",
        "file": str(folder / "f.yaml"),
        "line": 9,
        "column": 14,
    }


def test_a_schema_that_nobody_knows_is_a_warning_and_exit_code_0(settings):
    done = sparkless_here(settings, "validate", "--quick", "--json")
    assert done.returncode == 0
    answer = answer_of(done)
    assert answer["ok"] is True
    (problem,) = answer["problems"]
    assert problem["severity"] == "warning"
    assert "could not be checked against the schema, because no registry runs" in problem["fact"]


def test_one_feed_may_be_named(settings, folder):
    (folder / "f.yaml").write_text(WRONG)
    (folder / "g.yaml").write_text(
        HEAD.replace("play", "other", 1).replace("[poker, uno]", "[chess]")
        + "mask: {plyer: hash}\n"
    )
    told = ("validate", "--quick", "--json", "--feeds", str(folder), "--feed")
    assert result_of(sparkless_here(settings, *told, "other"))["errors"] == 1
    done = sparkless_here(settings, *told, "none")
    assert done.returncode == 1
    assert "Use one of: other, play" in json.dumps(answer_of(done)["problems"])


def test_what_a_name_may_mean_is_told_once(settings, folder):
    (folder / "f.yaml").write_text(f"{HEAD}expectation: []\n")
    done = sparkless_here(settings, "validate", "--quick", "--feeds", str(folder))
    (line, _) = done.stdout.splitlines()
    assert line.endswith("error: expectation is no field. Write `expectations`")


@pytest.mark.spark
def test_spark_has_the_last_word(settings, folder):
    (folder / "f.yaml").write_text(f"{HEAD}expectations: [{{name: e, sql: size(score) > 1}}]\n")
    quick = sparkless_here(settings, "validate", "--quick", "--feeds", str(folder))
    assert (quick.returncode, quick.stdout) == (0, "feeds: 1 valid (play)\n")
    done = lake_assets_here(settings, "validate", "--feeds", str(folder))
    assert done.returncode == 1
    assert 'expectations[0].sql: does not compile: Cannot resolve "size(score)"' in done.stdout


@pytest.mark.spark
@pytest.mark.slow
def test_spark_judges_without_jars_in_the_cache_and_fetches_none(settings, folder, tmp_path):
    (folder / "f.yaml").write_text(f"{HEAD}expectations: [{{name: e, sql: size(score) > 1}}]\n")
    cache = tmp_path / "empty"
    runtime = settings.runtime.model_copy(update={"cache": cache})
    bare = settings.model_copy(update={"runtime": runtime})
    done = lake_assets(bare, "validate", "--feeds", str(folder))
    assert done.returncode == 1, done.stderr
    assert 'Cannot resolve "size(score)"' in done.stdout
    assert not list(cache.rglob("*.jar"))
