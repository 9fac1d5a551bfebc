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
    return lambda: lease.elsewhere() is None


def _keep(kept: "KeptState", is_writer: Callable[[], bool], ended: threading.Event) -> None:
    while not ended.wait(_EVERY_S):
        _keep_now(kept, is_writer)


def _keep_now(kept: "KeptState", is_writer: Callable[[], bool]) -> None:
    try:
        if kept.has_changed():
            kept.bring_together(is_writer=is_writer)
    except (LakeError, OSError) as problem:
        _LOG.warning("the state was not kept in %s, and is tried again: %s", kept.place, problem)
