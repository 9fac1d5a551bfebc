"""The first look at texts: many of them at once, since an expression is made ready for each look.

What a thread met waits here until it is some megabytes; only if one of them has a value is each
looked at by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from lake_assets.erasure.sought import Sought

_AT_ONCE = 8 << 20
"""Bytes of texts. For a hundred values an expression takes 3 ms to be made ready, which is what
looking through a megabyte takes."""


@dataclass(slots=True)
class Screen:
    """What waits for its first look; of one thread."""

    sought: Sought
    _texts: list[tuple[pa.Array, Callable[[], None]]] = field(default_factory=list)
    _payloads: list[tuple[pa.Array, Callable[[], None]]] = field(default_factory=list)
    _size: int = 0

    def add(self, texts: pa.Array, look: Callable[[], None], *, are_payloads: bool = False) -> None:
        """Have some texts looked at, now or later: `look` is called if they may have a value."""
        (self._payloads if are_payloads else self._texts).append((texts, look))
        self._size += texts.nbytes
        if self._size >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Look at all that waits."""
        for held, are_payloads in ((self._texts, False), (self._payloads, True)):
            waiting = [*held]
            held.clear()
            if not waiting:
                continue
            joined = pa.concat_arrays([texts for texts, _ in waiting])
            if self.sought.may_have(joined, are_payloads=are_payloads):
                for _, look in waiting:
                    look()
        self._size = 0
