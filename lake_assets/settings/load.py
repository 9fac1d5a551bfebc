"""The one reader and writer of the environment (`LAKE_ASSETS_HOME` and so on).

A field `x` of group `g` is `LAKE_ASSETS_G_X`; a field without a group is `LAKE_ASSETS_X`. Each may
be in a file or said by a command instead: that is `indirect`'s.
"""

import contextlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from pydantic_settings import SettingsError as UnreadableError

from lake_assets.errors import SettingsError
from lake_assets.settings.folders import ensure_apart, whole_place
from lake_assets.settings.group import Group
from lake_assets.settings.indirect import direct_values, value_of
from lake_assets.settings.schema import Settings

_G = TypeVar("_G", bound=BaseModel)

_PREFIX = "LAKE_ASSETS_"

_environment_lock = threading.RLock()

_JSON = {
    "kafka": "options",
    "spark": "conf",
    "backup": "options",
    "storage": "options",
    "catalog": "options",
}
"""By group, the field that is a JSON object."""


class _Environment(Settings, BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=_PREFIX,
        env_nested_delimiter="_",
        env_nested_max_split=1,
        extra="ignore",
        frozen=True,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then the environment; pydantic's own way to files knows other names."""
        del settings_cls, dotenv_settings, file_secret_settings
        assert isinstance(env_settings, EnvSettingsSource)  # noqa: S101 - pydantic's promise
        # It has their names in lower case, whatever case they were set in.
        given = {name.upper(): value or "" for name, value in env_settings.env_vars.items()}
        direct = direct_values(given, variables())
        env_settings.env_vars = {name.lower(): value for name, value in direct.items()}
        return init_settings, env_settings


def variables() -> tuple[str, ...]:
    """The names of all settings' variables."""
    names = []
    for name, field in Settings.model_fields.items():
        group = field.annotation
        if isinstance(group, type) and issubclass(group, Group):
            names += [f"{_PREFIX}{name}_{inner}".upper() for inner in group.model_fields]
        else:
            names.append(f"{_PREFIX}{name}".upper())
    return tuple(names)


def load_settings(
    *, home: Path | None = None, lake: Path | None = None, is_temporary: bool = False
) -> Settings:
    """Read settings from the environment; arguments win. Paths come back absolute.

    Args:
        home: in place of the one that is set.
        lake: likewise.
        is_temporary: whether the lake is nobody's before and after, so that its state lies in it,
            and not where that of another lake is.

    Raises:
        SettingsError: a variable's value does not fit its field.
    """
    given = {name: path for name, path in (("home", home), ("lake", lake)) if path is not None}
    try:
        environment = _Environment(**given, **({"state": None} if is_temporary else {}))  # type: ignore[arg-type]
    except UnreadableError as problem:
        group = next((name for name in _JSON if f'"{name}"' in str(problem)), "")
        variable = f"{_PREFIX}{group}_{_JSON.get(group, '')}".upper()
        # The cause quotes nothing, but it holds the text, which may be a secret.
        raise SettingsError(variable, "is no JSON object", "Correct or unset it") from None
    except ValidationError as problem:
        first = problem.errors()[0]
        # A part behind the field is a key of its JSON.
        variable = _PREFIX + "_".join(str(part) for part in first["loc"][:2]).upper()
        fact = first["msg"].removeprefix("Value error, ")
        raise SettingsError(variable, fact, "Correct or unset the variable") from problem
    fields = {name: getattr(environment, name) for name in Settings.model_fields}
    for name in ("home", "lake", "state", "feeds"):
        if fields[name] is not None:
            fields[name] = whole_place(name, fields[name], is_option=name in given)
    for name in ("runtime", "registry", "spark"):
        fields[name] = _with_absolute_paths(fields[name])
    settings = Settings(**fields)
    ensure_apart(settings)
    return settings


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
    with _environment_lock:
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

    They are as before at the end, so that no later child inherits them. Threads take turns.
    """
    with _environment_lock:
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
    environment = {k: v for k, v in given if not k.upper().startswith(_PREFIX)}
    dump = settings.model_dump(exclude_none=True, exclude_defaults=True)
    for name, value in dump.items():
        if not isinstance(value, dict):
            environment[_PREFIX + name.upper()] = _text(value)
            continue
        for field, inner in value.items():
            environment[f"{_PREFIX}{name}_{field}".upper()] = _text(inner)
    return environment


def _text(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps({name: _text(item) for name, item in value.items()})
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
