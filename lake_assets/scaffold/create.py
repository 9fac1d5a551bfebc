"""Writing the files of a new project, none of them over one that is there."""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from lake_assets.errors import SettingsError
from lake_assets.feeds.json_schema import feed_schema

_PACKAGE = Path(__file__).parents[1]

_FILES = {
    ".env": "env",
    ".gitignore": "gitignore",
    ".dockerignore": "dockerignore",
    ".github/workflows/ci.yaml": "ci.yaml",
    "Dockerfile": "Dockerfile",
    "README.md": "README.md",
    "compose.yaml": "compose.yaml",
    "requirements.txt": "requirements.txt",
    "workspace.yaml": "workspace.yaml",
}
"""By name in a project, the file here: under names that no tool takes for its own."""

_SCHEMA = "feed.schema.json"
"""What may be in a feed; `lake-assets schema feed --output` makes it anew for another release."""

_EDITORS = f"# yaml-language-server: $schema=../{_SCHEMA}\n"
"""The first line of a feed, by which editors know its schema."""

_VERSION, _NAME = "{{version}}", "{{name}}"


def create_project(folder: Path) -> tuple[str, ...]:
    """Make a project in a folder, which may be there and have other files.

    Returns:
        The names of its files.

    Raises:
        SettingsError: a file of that name is there, or one cannot be written; none is left.
    """
    contents = _contents(_name_of(folder))
    try:
        there = [name for name in contents if _is_there(folder / name)]
        if there:
            fact = f"has {there[0]} already, and nothing was written"
            raise SettingsError(str(folder), fact, "Name another folder, or move that away")
        with ExitStack() as undo:
            for name, text in contents.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("x", encoding="utf-8") as file:  # never over one that came meanwhile
                    undo.callback(path.unlink, missing_ok=True)
                    file.write(text)
            undo.pop_all()
    except OSError as problem:
        place = problem.filename or folder
        fact = f"cannot be written ({problem.strerror or problem})"
        raise SettingsError(str(place), fact, "Name a folder that can be") from problem
    return tuple(contents)


def _name_of(folder: Path) -> str:
    """What a folder is called, as a text: names of files are bytes."""
    return os.fsencode(Path(os.path.realpath(folder)).name).decode(errors="replace")


def _is_there(path: Path) -> bool:
    """Also a link that leads nowhere: writing would follow it."""
    return path.is_symlink() or path.exists()


def _contents(name: str) -> Mapping[str, str]:
    given = Path(__file__).with_name("files")
    filled = {
        place: (given / file)
        .read_text(encoding="utf-8")
        .replace(_VERSION, version("lake-assets"))
        .replace(_NAME, name)
        for place, file in _FILES.items()
    }
    # The wheel's, or the repository's where this is a clone.
    places = (_PACKAGE / "dagster.yaml", _PACKAGE.parent / "dagster.yaml")
    instance = next(path for path in places if path.exists())
    games = (_PACKAGE / "feeds" / "games.yaml").read_text(encoding="utf-8")
    return {
        **filled,
        "dagster.yaml": instance.read_text(encoding="utf-8"),
        "feeds/games.yaml": f"{_EDITORS}{games}",
        _SCHEMA: f"{json.dumps(feed_schema(), indent=2)}\n",
    }
