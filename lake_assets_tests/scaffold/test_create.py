import json
import os
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from lake_assets.errors import SettingsError
from lake_assets.feeds.json_schema import feed_schema
from lake_assets.feeds.load import load_feeds
from lake_assets.scaffold.create import create_project
from lake_assets_tests.commandline import sparkless_here

ROOT = Path(__file__).parents[2]


def files_in(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()
    }


def test_a_project_has_all_that_it_names(tmp_path):
    made = create_project(tmp_path / "my lake")
    files = files_in(tmp_path / "my lake")
    assert set(files) == set(made)
    assert not [name for name, text in files.items() if "{{" in text.replace("${{", "")]
    assert files["requirements.txt"] == f"lake-assets[sql]=={version('lake-assets')}\n"
    assert files["README.md"].startswith("# my lake\n")
    for name in made:
        if name.endswith(".yaml"):
            assert yaml.safe_load(files[name]), name
    assert files["workspace.yaml"] == (ROOT / "workspace.yaml").read_text()
    assert files["dagster.yaml"] == (ROOT / "dagster.yaml").read_text()
    assert [feed.feed for feed in load_feeds(tmp_path / "my lake" / "feeds")] == ["games"]
    first, shipped = files["feeds/games.yaml"].split("\n", 1)
    schema = tmp_path / "my lake" / "feeds" / first.partition("$schema=")[2]
    assert json.loads(schema.read_text()) == feed_schema()
    assert shipped == (ROOT / "lake_assets" / "feeds" / "games.yaml").read_text()


def test_its_services_are_those_of_the_repository(tmp_path):
    create_project(tmp_path)
    ours = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())["services"]
    theirs = yaml.safe_load((tmp_path / "compose.yaml").read_text())["services"]
    for name in ("kafka", "registry"):
        for part in ("image", "environment", "healthcheck", "volumes"):
            assert theirs[name][part] == ours[name][part]
    assert {*theirs["lake"]["environment"]} < {*ours["code"]["environment"]}
    assert set(theirs) == {"kafka", "registry", "lake", "producer"}


@pytest.mark.parametrize("name", ["README.md", "feeds/games.yaml", ".github/workflows/ci.yaml"])
def test_nothing_is_written_where_a_name_is_taken(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(SettingsError, match=f"has {name} already"):
        create_project(tmp_path)
    assert files_in(tmp_path) == {name: "mine"}


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".env").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match=r"has \.env already"):
        create_project(tmp_path / "project")
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_with_other_files_is_taken(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    create_project(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_what_cannot_be_written_is_told(settings, tmp_path):
    (tmp_path / "file").write_text("")
    done = sparkless_here(settings, "init", str(tmp_path / "file"))
    assert (done.returncode, "cannot be written" in done.stderr) == (1, True)


@pytest.mark.parametrize("name", ["feeds", ".github"])
def test_nothing_is_left_where_it_cannot_go_on(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(SettingsError, match="cannot be written"):
        create_project(tmp_path)
    assert files_in(tmp_path) == {name: "mine"}


def test_a_folder_may_be_called_anything(tmp_path):
    folder = tmp_path / os.fsdecode(b"bad\xff")
    create_project(folder)
    assert (folder / "README.md").read_text().startswith("# bad\N{REPLACEMENT CHARACTER}\n")


def test_a_link_that_leads_to_itself_is_told(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(SettingsError, match="cannot be written"):
        create_project(tmp_path / "loop")


def test_the_command_says_what_it_made(settings, tmp_path):
    done = sparkless_here(settings, "init", str(tmp_path / "p"))
    assert done.returncode == 0, done.stderr
    assert set(files_in(tmp_path / "p")) < set(done.stdout.splitlines())
