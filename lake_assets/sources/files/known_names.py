"""Which of some files were found before, and which changed since: 24 bytes a name. Asks nobody.

A name is known by a hash of 16 bytes, its size and time (or a bucket's tag) by one of 8. The hash's
chance to take one of a hundred million new names for a known one is below 10⁻²².
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

from lake_assets.sources.files.found import Found

_MOST_RECENT = 65_536
"""Names that are kept in a dictionary until they are sorted in among the others."""


class KnownNames:
    """Names with their newest size and time."""

    def __init__(self) -> None:
        """Know none."""
        self._states = np.zeros(0, dtype=np.uint64)
        self._order = np.zeros((0, 2), dtype=np.uint64)
        self._recent: dict[bytes, int] = {}

    def add(self, files: Iterable[Found]) -> None:
        """Know files, or their newest state."""
        for file in files:
            self._recent[_name(file.name)] = _state(file)
        if len(self._recent) > _MOST_RECENT:
            self._sort_in()

    def split(self, files: Sequence[Found]) -> tuple[list[Found], list[Found]]:
        """Those of some files that are new, and those that are known and have changed."""
        new, changed = [], []
        names = [_name(file.name) for file in files]
        for file, name, state in zip(files, names, self._sorted_states(names), strict=True):
            known = self._recent.get(name, state)
            if known is None:
                new.append(file)
            elif known != _state(file):
                changed.append(file)
        return new, changed

    def _sorted_states(self, names: Sequence[bytes]) -> list[int | None]:
        if not len(self._order) or not names:
            return [None] * len(names)
        asked = _numbers(names)
        # By the first half, which few names share, and then from there on by the second.
        places = np.searchsorted(self._order[:, 0], asked[:, 0])
        return [
            self._at(int(place), (int(high), int(low)))
            for place, (high, low) in zip(places, asked, strict=True)
        ]

    def _at(self, place: int, name: tuple[int, int]) -> int | None:
        while place < len(self._order) and int(self._order[place, 0]) == name[0]:
            if int(self._order[place, 1]) == name[1]:
                return int(self._states[place])
            place += 1
        return None

    def _sort_in(self) -> None:
        names, states = _numbers([*self._recent]), np.array([*self._recent.values()], np.uint64)
        every, values = np.concatenate([names, self._order]), np.concatenate([states, self._states])
        # The newest state of a name comes first, and stays.
        order = np.lexsort((every[:, 1], every[:, 0]))
        every, values = every[order], values[order]
        is_first = np.ones(len(every), dtype=np.bool_)
        is_first[1:] = (every[1:] != every[:-1]).any(axis=1)
        self._order, self._states, self._recent = every[is_first], values[is_first], {}


def _numbers(names: Sequence[bytes]) -> "np.ndarray[tuple[int, int], np.dtype[np.uint64]]":
    return np.frombuffer(b"".join(names), dtype=">u8").astype(np.uint64).reshape(-1, 2)


def _name(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=16).digest()


def _state(file: Found) -> int:
    # As `Found.is_as`: where a bucket has a tag for the content, its time says no more.
    text = f"{file.size}-{file.etag or file.modified_ns}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
