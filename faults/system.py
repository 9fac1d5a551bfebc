"""The system under fault, as a fault sees it: its processes by role, its addresses, its folders.

Which processes those are, a venue says (`stack`); this is what all venues have in common.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from lake_assets.settings.schema import Settings


class System(Protocol):
    """What runs, where it listens, and where it keeps what."""

    @property
    def settings(self) -> Settings:
        """As the product has them."""
        ...

    @property
    def state_dir(self) -> Path:
        """Where streams keep what is not in the lake."""
        ...

    @property
    def lake(self) -> str:
        """The lake's folder, or its address."""
        ...

    @property
    def addresses(self) -> Mapping[str, tuple[str, int]]:
        """Where broker, registry, store and spark really listen, by role."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """For children."""
        ...

    def processes(self) -> Mapping[str, list[int]]:
        """What runs now, by role; a role of which nothing runs is absent or empty."""
        ...

    def restore(self, role: str) -> None:
        """Have what plays a role run again, where nobody else sees to that."""
        ...

    def log(self, line: str) -> None:
        """Note a line in the run's log."""
        ...
