"""Files of a lake's bucket as Arrow reads them: any part, and nothing else of a file system."""

from contextlib import ExitStack
from typing import NoReturn

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystemHandler, FileType

from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.store import Store


class StoreFiles(FileSystemHandler):  # type: ignore[misc] # pyarrow ships no types
    """Reads files by their addresses; whatever else Arrow may ask of a file system is refused."""

    def __init__(self, store: Store, closing: ExitStack) -> None:
        """Open files of a store; they stay open until `closing` ends."""
        self._store = store
        self._closing = closing

    def get_type_name(self) -> str:
        """As Arrow asks for it."""
        return "lake"

    def normalize_path(self, path: str) -> str:
        """Addresses are as they are."""
        return path

    def get_file_info(self, paths: list[str]) -> list[FileInfo]:
        """Whether files are there, and how large they are."""
        found = []
        for path in paths:
            stat = self._store.stat(LakeUri.parse(path))
            kind, size = (FileType.NotFound, 0) if stat is None else (FileType.File, stat.size)
            found.append(FileInfo(path, kind, size=size))
        return found

    def open_input_file(self, path: str) -> pa.NativeFile:
        """A file of which any part can be read."""
        place = LakeUri.parse(path)
        stream = self._closing.enter_context(self._store.open_for_reading(place))
        return pa.PythonFile(stream, mode="r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Likewise."""
        return self.open_input_file(path)

    def get_file_info_selector(self, selector: FileSelector) -> NoReturn:
        """Refused, as all that follows: files are named by logs, and only read."""
        raise NotImplementedError(selector)

    def create_dir(self, path: str, recursive: bool) -> NoReturn:  # noqa: FBT001 - Arrow's own
        """Refused."""
        raise NotImplementedError(path, recursive)

    def delete_dir(self, path: str) -> NoReturn:
        """Refused."""
        raise NotImplementedError(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> NoReturn:  # noqa: FBT001, FBT002 - Arrow's own
        """Refused."""
        raise NotImplementedError(path, missing_dir_ok)

    def delete_root_dir_contents(self) -> NoReturn:
        """Refused."""
        raise NotImplementedError

    def delete_file(self, path: str) -> NoReturn:
        """Refused."""
        raise NotImplementedError(path)

    def move(self, src: str, dest: str) -> NoReturn:
        """Refused."""
        raise NotImplementedError(src, dest)

    def copy_file(self, src: str, dest: str) -> NoReturn:
        """Refused."""
        raise NotImplementedError(src, dest)

    def open_output_stream(self, path: str, metadata: object) -> NoReturn:
        """Refused."""
        raise NotImplementedError(path, metadata)

    def open_append_stream(self, path: str, metadata: object) -> NoReturn:
        """Refused."""
        raise NotImplementedError(path, metadata)
