"""Backs a lake up, or restores it, and kills its own process with some file half written.

`python -m lake_assets_tests.backup.doomed backup|restore PLACE FILES`, settings as JSON on standard
input. To come to its end, with fewer files to write, is told by exit code 0.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lake_assets.backup import restore as restoring
from lake_assets.backup.create import back_up
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.progress import Progress
from lake_assets.erasure import obeyed_restore
from lake_assets.model.lake_uri import LakeUri
from lake_assets.settings.schema import Settings
from lake_assets.storage.local import LocalStore
from lake_assets.storage.store import Writing


class DoomedStore(LocalStore):
    """Goes down while it writes one file too many."""

    left = 0
    lock = threading.Lock()

    @contextmanager
    def open_for_writing(self, file: LakeUri, *, durable: bool = False) -> Iterator[Writing]:
        with self.lock:
            DoomedStore.left -= 1
            is_last = DoomedStore.left < 0
        with super().open_for_writing(file, durable=durable) as stream:
            if is_last:
                stream.write(b"half")
                os.kill(os.getpid(), signal.SIGKILL)
            yield stream


def main() -> None:
    """Run until death, or to the end."""
    what, place, files = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    settings = Settings.model_validate_json(sys.stdin.read())
    DoomedStore.left = files
    if what == "backup":
        back_up(settings, BackupPlace(DoomedStore.at(place)), Progress())
        return
    setattr(restoring, "lake_of", lambda of: DoomedStore.at(of.lake_dir))  # noqa: B010
    found = BackupPlace(LocalStore.at(place))
    obeyed_restore.restore(settings, found, Progress(), number=None, force=True)


if __name__ == "__main__":
    main()
