"""Whether a process may write a lake that other machines reach, as who writes asks for it."""

from typing import Protocol, runtime_checkable

from lake_assets.storage.store import Store


class Guard(Protocol):
    """Knows whether this process may write the lake. Thread-safe; goes with a store by pickling."""

    def ensure(self) -> None:
        """Make sure of it by what was known a moment ago.

        Raises:
            LeaseLostError: it may not.
            LakeError: the store cannot be asked.
        """

    def verify(self) -> None:
        """Make sure of it by asking the store; raises as `ensure`."""


@runtime_checkable
class _Guarded(Protocol):
    @property
    def guard(self) -> Guard: ...


def guard_of(store: Store) -> Guard | None:
    """What keeps a store from being written by two; None where locks do."""
    return store.guard if isinstance(store, _Guarded) else None


def ensure_writer(store: Store) -> None:
    """Make sure that this process could write a moment ago; raises as `Guard.ensure`."""
    guard = guard_of(store)
    if guard is not None:
        guard.ensure()


def verify_writer(store: Store) -> None:
    """Make sure that this process may still write; raises as `Guard.verify`."""
    guard = guard_of(store)
    if guard is not None:
        guard.verify()
