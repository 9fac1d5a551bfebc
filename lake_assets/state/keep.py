"""When what outlasts a state folder is brought to its bucket: while a lake is written, and on call.

Where all of the state is in a folder nothing happens. How it is done is `kept_state`'s.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lake_assets.errors import LakeError
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_facts import kept_of

if TYPE_CHECKING:
    from lake_assets.state.kept_state import KeptState

_LOG = logging.getLogger(__name__)

_EVERY_S = 5.0
"""Seconds between two comparisons while a lake is written."""

_LOOK_AT_EACH = 6
"""Of these comparisons one asks the bucket, where another machine may have noted what this one
heeds, as that a stream is to stop: every half a minute, since each costs a request."""


@contextmanager
def kept_current(settings: Settings) -> Iterator[None]:
    """Bring folder and bucket together now, every few seconds in the block, and after it.

    Args:
        settings: of a lake that this process holds the lease of.

    Raises:
        LakeError: they cannot be, at the beginning; later that is logged, and tried again.
        OSError: likewise.
    """
    kept = kept_of(settings)
    if kept is None:
        yield
        return
    # Whoever wrote the lake meanwhile knows better than what an older folder still had to tell.
    kept.bring_together(is_writer=lambda: False)
    ended, is_writer = threading.Event(), _is_writer(settings)
    keeper = threading.Thread(target=_keep, args=[kept, is_writer, ended], name="kept-state")
    keeper.daemon = True
    keeper.start()
    try:
        yield
    finally:
        ended.set()
        keeper.join()
        _keep_now(kept, is_writer)


def take_now(settings: Settings) -> None:
    """Bring folder and bucket together before the folder is gone by; what fails is logged.

    Another machine may have written the lake since this folder was in use.
    """
    kept = kept_of(settings)
    if kept is not None:
        _keep_now(kept, _is_writer(settings), is_to_look=True)


def keep_now(settings: Settings) -> None:
    """Bring folder and bucket together if the folder has something new; what fails is logged."""
    kept = kept_of(settings)
    if kept is not None:
        _keep_now(kept, _is_writer(settings))


def _is_writer(settings: Settings) -> Callable[[], bool]:
    # Loaded only for buckets, as their store is.
    from lake_assets.state.lease import LakeLease  # noqa: PLC0415

    root, options = settings.lake_root, settings.storage.secrets
    lease = LakeLease(root=root, options=options, state_dir=settings.state_dir)
    return lease.is_held_here


def _keep(kept: "KeptState", is_writer: Callable[[], bool], ended: threading.Event) -> None:
    looks = 0
    while not ended.wait(_EVERY_S):
        looks += 1
        _keep_now(kept, is_writer, is_to_look=looks % _LOOK_AT_EACH == 0)


def _keep_now(
    kept: "KeptState", is_writer: Callable[[], bool], *, is_to_look: bool = False
) -> None:
    try:
        if is_to_look or kept.has_changed():
            kept.bring_together(is_writer=is_writer)
    except (LakeError, OSError) as problem:
        _LOG.warning("the state was not kept in %s, and is tried again: %s", kept.place, problem)
