"""Which variables there are, what they say and who said it; unknown names, and the nearest one.

An empty variable is as one that is not set: files of containers write `${NAME:-}`. Of a list it is
the empty one, which has no other spelling. Values are read here as texts, and JSON among them as
what it is; whether they fit is pydantic's to say.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, get_origin

from lake_assets.errors import SettingsError
from lake_assets.settings.group import Group
from lake_assets.settings.indirect import value_of
from lake_assets.settings.schema import Settings

PREFIX = "LAKE_ASSETS_"

_WAYS = ("", "_FILE", "_COMMAND")

_FOUND_FOR_SURE = 0.6
"""Likeness from which a name is told as the one that was meant; difflib's own."""


@dataclass(kw_only=True)
class Given:
    """What the environment says."""

    values: dict[str, Any] = field(default_factory=dict, repr=False)
    """By group and field, or by field: what pydantic takes."""

    origins: dict[str, str] = field(default_factory=dict)
    """By variable that is set: the one that says it, its own or another one's name."""

    errors: list[SettingsError] = field(default_factory=list)


def fields_by_variable() -> dict[str, tuple[tuple[str, ...], Any]]:
    """By variable, the way to its field and the field's type."""
    found: dict[str, tuple[tuple[str, ...], Any]] = {}
    for name, one in Settings.model_fields.items():
        group = one.annotation
        if isinstance(group, type) and issubclass(group, Group):
            for inner, leaf in group.model_fields.items():
                found[f"{PREFIX}{name}_{inner}".upper()] = ((name, inner), leaf.annotation)
        else:
            found[f"{PREFIX}{name}".upper()] = ((name,), group)
    return found


def read(environment: Mapping[str, str]) -> Given:
    """What an environment says of all settings; a variable may be in any case.

    A value that cannot be had is an error, and the others are read all the same.
    """
    named = {name.upper(): value for name, value in environment.items()}
    given = Given()
    for variable, (way, kind) in fields_by_variable().items():
        try:
            text = value_of(named, variable)
            if text is None or not (text or get_origin(kind) is list):
                continue
            value = _parsed(variable, text, kind)
        except SettingsError as problem:
            given.errors.append(problem)
            continue
        given.origins[variable] = next(
            variable + how for how in reversed(_WAYS) if named.get(variable + how) or not how
        )
        place = given.values
        for step in way[:-1]:
            place = place.setdefault(step, {})
        place[way[-1]] = value
    return given


def unknown(environment: Collection[str]) -> dict[str, str | None]:
    """Variables with our prefix that are none of ours, and the nearest that is, if one is near."""
    known = {
        (variable + how).removeprefix(PREFIX) for variable in fields_by_variable() for how in _WAYS
    }
    # Without the prefix, which makes any two alike.
    names = {name: name.upper().removeprefix(PREFIX) for name in environment if _is_ours(name)}
    found: dict[str, str | None] = {}
    for name, own in sorted(names.items()):
        if own not in known:
            near = get_close_matches(own, known, n=1, cutoff=_FOUND_FOR_SURE)
            found[name] = PREFIX + near[0] if near else None
    return found


def _is_ours(name: str) -> bool:
    return name.upper().startswith(PREFIX)


def words_of_unknown(name: str, near: str | None) -> SettingsError:
    """What to tell of an unknown variable."""
    step = f"Did you mean {near}?" if near else "`lake-assets config show` lists all"
    return SettingsError(name, "is no setting of this release, and has no effect", step)


def _parsed(variable: str, text: str, kind: object) -> object:
    """The value of a text; of fields that are objects, what its JSON says."""
    if text.isspace():
        raise SettingsError(variable, "is nothing but blanks", "Correct or unset it")
    if get_origin(kind) is not dict:
        return text
    step = """Write it like {"name": "value"}"""
    try:
        value = json.loads(text)
    except ValueError:
        # The cause quotes nothing, but it holds the text, which may be a secret.
        raise SettingsError(variable, "is no JSON, and an object is needed", step) from None
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise SettingsError(variable, "is JSON, and not an object of texts", step)
    return value
