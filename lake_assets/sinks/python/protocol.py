"""What a sink of one's own is, and how it says that rows did not arrive.

```python
from lake_assets.sinks.python.protocol import Refused, Retry


class Slack:
    def __init__(self, channel: str, token: str) -> None: ...

    def deliver(self, rows: list[dict], key: str) -> None: ...

    def close(self) -> None: ...  # may be left out
```
"""

from collections.abc import Sequence
from typing import Any, Protocol


class OwnSink(Protocol):
    """A sink of one's own. Its options are named arguments of its `__init__`."""

    def deliver(self, rows: list[dict[str, Any]], key: str) -> None:
        """Have the rows arrive, all of them: a return says that they did.

        Args:
            rows: their fields, with JSON's values, as a REST sink sends them.
            key: the same whenever the same rows go together; another one for any others.

        Raises:
            Retry: they may arrive later.
            Refused: some or all never will.
            Unusable: no rows can arrive as things are.
            Exception: any other, as `Retry`.
        """
        ...


class Retry(Exception):  # noqa: N818 - said by users, who raise it
    """Rows did not arrive, and may later: the same call is made again."""

    def __init__(self, reason: str, *, after_s: float | None = None) -> None:
        """Say why, and after how many seconds; unset, as for REST, and longer each time."""
        super().__init__(reason)
        self.after_s = after_s


class Refused(Exception):  # noqa: N818 - likewise
    """Rows will not arrive, however often they are sent: they are dead letters."""

    def __init__(self, reason: str, *, rows: Sequence[int] | None = None) -> None:
        """Say why, and which, by their places in the call; the others did arrive. Unset, all."""
        super().__init__(reason)
        self.rows = rows


class Unusable(Exception):  # noqa: N818 - likewise
    """No rows can arrive until somebody acts: the sink stands still, and no row is lost."""
