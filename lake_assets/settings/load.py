"""The one reader and writer of the environment (`LAKE_ASSETS_HOME` and so on).

A field `x` of group `g` is `LAKE_ASSETS_G_X`; a field without a group is `LAKE_ASSETS_X`. Each may
be in a file or said by a command instead: that is `indirect`'s.
"""

import contextlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, SecretStr, ValidationError

from lake_assets.errors import SettingsError
from lake_assets.settings.complaints import complaints_of
from lake_assets.settings.environment_lock import environment_set
from lake_assets.settings.folders import ensure_apart, whole_place
from lake_assets.settings.indirect import value_of
from lake_assets.settings.schema import Settings
from lake_assets.settings.several import together
from lake_assets.settings.variables import (
    PREFIX,
    fields_by_variable,
    read,
    unknown,
    words_of_unknown,
)

_G = TypeVar("_G", bound=BaseModel)


def variables() -> tuple[str, ...]:
    """The names of all settings' variables."""
    return tuple(fields_by_variable())


def unknown_variables() -> list[SettingsError]:
    """A complaint for each variable that looks like a setting's and is none."""
    return [words_of_unknown(name, near) for name, near in unknown(os.environ).items()]


def origins() -> dict[str, str]:
    """By variable of a setting that is set, the variable that says its value."""
    return read(os.environ).origins


def load_settings(
    *,
    home: Path | None = None,
    lake: Path | None = None,
    feeds: Path | None = None,
    is_temporary: bool = False,
    over: Mapping[str, Mapping[str, object]] | None = None,
    with_unknown: bool = False,
) -> Settings:
    """Read settings from the environment; arguments win. Paths come back absolute.

    Args:
        home: in place of the one that is set.
        lake: likewise.
        feeds: likewise.
        is_temporary: whether the lake is nobody's before and after, so that its state lies in it,
            and not where that of another lake is.
        over: by group, fields that go before the environment's.
        with_unknown: whether an error tells of unknown variables, too.

    Raises:
        SettingsError: values do not fit; it tells of all of them.
    """
    places = {"home": home, "lake": lake, "feeds": feeds}
    options = {name: path for name, path in places.items() if path is not None}
    given = read(os.environ)
    values = {**given.values, **options, **({"state": None} if is_temporary else {})}
    for group, fields in (over or {}).items():
        values[group] = {**values.get(group, {}), **fields}
    settings, errors = _validated(values, options, given.errors)
    if settings is None:
        raise together([*errors, *(unknown_variables() if with_unknown else ())])
    ensure_apart(settings)
    return settings


def _validated(
    values: Mapping[str, Any], options: Collection[str], errors: Sequence[SettingsError]
) -> tuple[Settings | None, list[SettingsError]]:
    """The settings, or all that is wrong with them."""
    found = [*errors]
    try:
        settings = Settings.model_validate(values)
    except ValidationError as problem:
        told = {one.thing.removesuffix("_FILE").removesuffix("_COMMAND") for one in errors}
        others = complaints_of(problem, Settings, PREFIX)
        return None, [*found, *(one for one in others if one.thing not in told)]
    fields = {name: getattr(settings, name) for name in Settings.model_fields}
    for name in ("home", "lake", "state", "feeds"):
        if fields[name] is not None:
            try:
                fields[name] = whole_place(name, fields[name], is_option=name in options)
            except SettingsError as problem:
                found.append(problem)
    for name in ("runtime", "registry", "spark"):
        fields[name] = _with_absolute_paths(fields[name])
    return (None, found) if found else (Settings(**fields), [])


def _with_absolute_paths(group: _G) -> _G:
    paths = {n: p.expanduser().absolute() for n, p in group if isinstance(p, Path)}
    return group.model_copy(update=paths)


def java_environment() -> dict[str, str]:
    """What this machine says about its own Java: `JAVA_HOME` and `PATH`, as far as they are set."""
    return {name: os.environ[name] for name in ("JAVA_HOME", "PATH") if os.environ.get(name)}


def executable_path() -> str:
    """Where this process looks for programs."""
    return os.environ.get("PATH", os.defpath)


def secret_of(variable: str) -> SecretStr:
    """A secret that a feed names by its environment variable.

    Raises:
        SettingsError: it is not set, or ends with a line break or the like; or as `value_of`.
    """
    value = value_of(os.environ, variable)
    if not value:
        step = f"Set the variable, or {variable}_FILE or {variable}_COMMAND"
        raise SettingsError(variable, "is not set, and a feed needs it", step)
    if not value.isprintable():
        fact = "has a character that is not printable, such as a line's end"
        raise SettingsError(variable, fact, "Correct the variable")
    return SecretStr(value)


def jvm_options() -> list[str]:
    """Options that JVMs and Spark's launcher take from the environment, as they stand."""
    names = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
    return [os.environ[name] for name in names if name in os.environ]


def store_environment() -> dict[str, str]:
    """What the environment says about AWS, Azure and Google: servers, regions, a login."""
    names = ("AWS_", "AZURE_", "GOOGLE_")
    return {name: value for name, value in os.environ.items() if name.startswith(names)}


def openlineage_environment() -> dict[str, str]:
    """What the environment says about OpenLineage, whose client reads the same."""
    return {name: value for name, value in os.environ.items() if name.startswith("OPENLINEAGE_")}


@contextlib.contextmanager
def openlineage_variables_kept() -> Iterator[None]:
    """Take back the variables that OpenLineage's client sets for itself when it is made.

    Children would inherit its key under another name.
    """
    with environment_set():
        before = openlineage_environment()
        try:
            yield
        finally:
            for name in openlineage_environment().keys() - before.keys():
                del os.environ[name]


def openlineage_namespace() -> str:
    """Where this lake's jobs are named: `OPENLINEAGE_NAMESPACE`, or `lake_assets`."""
    return os.environ.get("OPENLINEAGE_NAMESPACE") or "lake_assets"


def dagster_home() -> Path | None:
    """Where a Dagster keeps its storage that the environment names (`DAGSTER_HOME`)."""
    named = os.environ.get("DAGSTER_HOME")
    return Path(named) if named else None


def spark_class_path() -> str | None:
    """What the user has Spark's launcher add to its class path."""
    return os.environ.get("SPARK_DIST_CLASSPATH")


@contextlib.contextmanager
def temporary_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables of this process while a library reads them that takes them from nowhere else.

    They are as before at the end, so that no later child inherits them. Threads take turns, and
    wait to open tables.
    """
    with environment_set():
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def child_environment(
    settings: Settings, *, base: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The environment that makes a child process load the same `settings`, secrets included."""
    # Settings heed a variable's name in any case.
    given = (base or os.environ).items()
    environment = {k: v for k, v in given if not k.upper().startswith(PREFIX)}
    dump = settings.model_dump(exclude_none=True, exclude_defaults=True)
    for name, value in dump.items():
        if not isinstance(value, dict):
            environment[PREFIX + name.upper()] = _text(value)
            continue
        for field, inner in value.items():
            environment[f"{PREFIX}{name}_{field}".upper()] = _text(inner)
    return environment


def _text(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps({name: _text(item) for name, item in value.items()})
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
