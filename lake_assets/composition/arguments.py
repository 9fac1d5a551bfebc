"""A lake by the arguments of a project's code: they go before the environment's settings."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path

from lake_assets.errors import SettingsError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.settings.group import Group
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings

Place = str | PathLike[str]
"""A folder, or the address of a bucket."""

Words = str | Sequence[str]
"""One, or several."""

Overrides = Mapping[str, Mapping[str, object]]
"""By group of settings, such as `stream`, its fields."""


@dataclass(frozen=True, slots=True)
class Lake:
    """A lake as a code location has it."""

    settings: Settings
    feeds: tuple[Feed, ...]

    @property
    def prefix(self) -> tuple[str, ...]:
        """What its keys begin with."""
        return tuple(self.settings.dagster.key_prefix)

    @property
    def words(self) -> str:
        """It, in a sentence."""
        prefix = f" (prefix {'/'.join(self.prefix)})" if self.prefix else ""
        return f"{self.settings.lake_root}{prefix}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """Arguments as they are given; None leaves a setting to the environment, or to its default."""

    lake: Place | None = None
    feeds: Place | None = None
    home: Place | None = None
    key_prefix: Words | None = None
    owners: Words | None = None
    lake_resource: str | None = None


def words_of(given: str | Collection[str]) -> list[str]:
    """A list of one, or of several."""
    return [given] if isinstance(given, str) else [*given]


def open_lake(asked: Asked, overrides: Overrides) -> Lake:
    """Settings and feeds by these arguments.

    Raises:
        SettingsError: an argument or a variable of the environment does not fit.
        FeedError: a feed cannot be used.
    """
    settings = settings_by(asked, overrides)
    return Lake(settings, load_feeds(settings.feeds))


def settings_by(asked: Asked, overrides: Overrides) -> Settings:
    """The settings by these arguments.

    Raises:
        SettingsError: an argument or a variable of the environment does not fit.
    """
    over = {name: dict(_fields(name, fields)) for name, fields in overrides.items()}
    own = {
        "key_prefix": None if asked.key_prefix is None else words_of(asked.key_prefix),
        "owners": None if asked.owners is None else words_of(asked.owners),
        "lake_resource": asked.lake_resource,
    }
    given = {name: value for name, value in own.items() if value is not None}
    if given:
        over["dagster"] = {**over.get("dagster", {}), **given}
    home, lake, feeds = (_path(name, getattr(asked, name)) for name in ("home", "lake", "feeds"))
    try:
        return load_settings(home=home, lake=lake, feeds=feeds, over=over)
    except SettingsError as problem:
        raise _of_arguments(problem, over, own) from problem


def ensure_known(what: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse words that mean nothing, and tell the nearest.

    Raises:
        SettingsError: one of them is not known.
    """
    for word in given:
        if word not in known:
            near = get_close_matches(word, known, n=1)
            step = f"Did you mean {near[0]!r}?" if near else f"Use some of: {', '.join(known)}"
            raise SettingsError(what, f"has {word!r}, which is not known", step)


def _path(name: str, place: Place | None) -> Path | None:
    if place is None:
        return None
    if not isinstance(place, str | PathLike):
        raise SettingsError(name, f"is a {type(place).__name__}, and no path", "Give a folder")
    if not str(place).strip():  # it would be the folder in which the process runs
        raise SettingsError(name, "is empty", "Give a folder, or leave it out")
    return Path(place)


def _groups() -> dict[str, type[Group]]:
    kinds = {name: field.annotation for name, field in Settings.model_fields.items()}
    return {n: k for n, k in kinds.items() if isinstance(k, type) and issubclass(k, Group)}


def _fields(name: str, fields: Mapping[str, object]) -> Mapping[str, object]:
    groups = _groups()
    ensure_known("settings", [name], [*groups])
    ensure_known(f"settings {name!r}", [*fields], [*groups[name].model_fields])
    return fields


def _of_arguments(
    problem: SettingsError, over: Mapping[str, Mapping[str, object]], own: Collection[str]
) -> SettingsError:
    """The same problem, told of the argument that has it, and not of a variable or an option."""
    if problem.thing.startswith("--"):
        return SettingsError(problem.thing.removeprefix("--"), problem.fact, problem.next_step)
    for group, fields in over.items():
        for field in fields:
            if problem.thing == f"LAKE_ASSETS_{group}_{field}".upper():
                is_own = group == "dagster" and field in own
                thing = field if is_own else f"{group}={{{field!r}: …}}"
                return SettingsError(thing, problem.fact, "Correct it")
    return problem
