"""Which lakes this process builds definitions of, so that names need no lake where there is one.

A name that is asked for before that is made from the environment, and looked at again once a lake
is built: a dependency on an asset that does not exist would be silent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lake_assets.composition.arguments import Lake
from lake_assets.errors import LakeAssetsError, SettingsError

Name = Callable[[Lake], str]
"""What a lake calls something; raises as it does if it has no such thing."""

IsOf = Callable[[Lake], bool]
"""Whether it is this lake that is meant."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Early:
    """A name that was made before its lake was built."""

    call: str
    answer: str
    name: Name
    is_of: IsOf


def every_lake(lake: Lake) -> bool:
    """Whichever is built."""
    del lake
    return True


@dataclass(slots=True)
class BuiltLakes:
    """Those of one process."""

    _lakes: dict[tuple[str, tuple[str, ...]], Lake] = field(default_factory=dict)
    _early: list[Early] = field(default_factory=list)

    def remember(self, lake: Lake) -> None:
        """Note that definitions of a lake are built.

        Raises:
            SettingsError: a name that was asked for before is not what this lake calls it.
        """
        early = [one for one in self._early if one.is_of(lake)]
        self._early = [one for one in self._early if one not in early]
        self._lakes[str(lake.settings.lake_root), lake.prefix] = lake
        for one in early:
            try:
                now = one.name(lake)
            except LakeAssetsError as problem:
                now = str(problem)
            if now != one.answer:
                fact = f"was asked for before {lake.words} was built, and gave {one.answer}; now: "
                step = "Correct the name, or say which lake is meant (`key_prefix`, `lake`)"
                raise SettingsError(one.call, fact + now, step)

    def find(self, call: str, key_prefix: Sequence[str] | None) -> Lake | None:
        """The one with a prefix, or the only one; None if there is none.

        Args:
            call: what is asked for, in words.
            key_prefix: as its keys have it; None where it is not told.

        Raises:
            SettingsError: there are several.
        """
        found = [
            lake
            for lake in self._lakes.values()
            if key_prefix is None or lake.prefix == tuple(key_prefix)
        ]
        if len(found) > 1:
            known = ", ".join(lake.words for lake in found)
            fact = f"may be of several lakes that are built here: {known}"
            raise SettingsError(call, fact, "Say which one is meant (`key_prefix`, `lake`)")
        return found[0] if found else None

    def at(self, root: str) -> Lake | None:
        """One whose tables are there, whatever prefix it has."""
        return next((lake for (place, _), lake in self._lakes.items() if place == root), None)

    def note_early(self, call: str, answer: str, name: Name, is_of: IsOf = every_lake) -> None:
        """Note a name that was made without knowing its lake; asked again once that is built.

        Args:
            call: what was asked for, in words.
            answer: the name.
            name: what a lake calls it.
            is_of: whether a lake is the one that is meant; the first one that is built, if it is
                not told.
        """
        self._early.append(Early(call=call, answer=answer, name=name, is_of=is_of))


built_lakes = BuiltLakes()
"""Of this process: a code location is loaded in one of its own."""
