"""The store of a bucket for whoever writes a lake there: it asks first whether it still may.

Whether it may is a lease's business (`state.lease`). Data files are written without asking: until a
commit names them they do not count.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Self

from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.guard import Guard
from lake_assets.storage.objects import ObjectStore
from lake_assets.storage.store import Writing


class FencedStore(ObjectStore):
    """Keeps `storage.store.Store`, for as long as its guard lets it."""

    def __init__(self, root: LakeUri, options: Mapping[str, str], guard: Guard) -> None:
        """As `ObjectStore`."""
        super().__init__(root, options)
        self.guard = guard

    def below(self, folder: LakeUri) -> Self:
        """As `Store` has it, for as long as the same guard lets it."""
        return type(self)(folder, self.options, self.guard)

    def put_if_absent(self, file: LakeUri, content: bytes) -> bool:
        """As `Store` has it; also raises as `Guard.ensure`."""
        self.guard.ensure()
        is_made = super().put_if_absent(file, content)
        if not is_made:
            # Whoever came first may be the next holder, and this its fence.
            self.guard.verify()
        return is_made

    def delete_folder(self, folder: LakeUri, *, first: str = "") -> None:
        """As `Store` has it; also raises as `Guard.verify`."""
        self.guard.verify()
        super().delete_folder(folder, first=first)

    def copy_folder(self, folder: LakeUri, to: LakeUri, *, last: str = "") -> None:
        """As `ObjectStore` has it; also raises as `Guard.verify`."""
        self.guard.verify()
        super().copy_folder(folder, to, last=last)

    @contextmanager
    def open_for_writing(self, file: LakeUri, *, durable: bool = False) -> Iterator[Writing]:
        """As `Store` has it; of a file that is to be durable it also raises as `Guard.ensure`."""
        if durable:
            self.guard.ensure()
        with super().open_for_writing(file, durable=durable) as stream:
            yield stream
