"""Many questions to a registry at once, a few at a time.

What is asked, and what errors mean, is `confluent.registry`'s business.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

_AT_ONCE = 8
"""Questions that are open at once. A registry is others', too, and answers in milliseconds."""

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


def side_by_side(ask: Callable[[Asked], Answer], asked: Sequence[Asked]) -> list[Answer]:
    """The answers, in the order of what is asked.

    What one raises is raised, and nothing more is asked.

    Args:
        ask: asks about one; called in several threads.
        asked: what about.
    """
    if len(asked) < 2:  # noqa: PLR2004 - nothing is beside one
        return [ask(one) for one in asked]
    with ThreadPoolExecutor(min(_AT_ONCE, len(asked))) as pool:
        waiting = [pool.submit(ask, one) for one in asked]
        try:
            for one in as_completed(waiting):
                one.result()  # raises what it raised, also while an earlier one is still open
            return [one.result() for one in waiting]
        finally:
            pool.shutdown(cancel_futures=True)
