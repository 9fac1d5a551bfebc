"""Where a lake's erasures are kept: a file of the lake that restores and rebuilds leave alone.

It holds keyed hashes, offsets and counts, and no values; the key lies beside it unless the settings
have one. One process writes it at a time, in the turn `ERASING`. Streams look whether it changed by
`mark`, a file of the state folder, which costs a bucket's streams nothing.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lake_assets.errors import LakeError
from lake_assets.model.erasures import Erasure, Erasures, ErasureState, Later
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.origins import ByPlace, Place, Spans
from lake_assets.runtime.atomic_write import replace_text
from lake_assets.storage.store import Store

FOLDER = "_erasures"
"""Of a lake; no layer is called so, and Delta passes over it."""

ROWS = "rows"
"""In it, a folder a feed, with where its rows were."""

ERASING = "erasing"
"""What at most one process of a lake does at a time: changing the ledger."""

_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class ErasureLedger:
    """The erasures of a lake."""

    lake: Store
    state_dir: Path
    key: bytes = b""
    """Of the settings; empty if they have none."""

    @property
    def file(self) -> LakeUri:
        """Of the erasures."""
        return self.lake.root / FOLDER / "ledger.json"

    @property
    def key_file(self) -> LakeUri:
        """Of the key, if the settings have none."""
        return self.lake.root / FOLDER / "key"

    def mark(self) -> str:
        """What is another text once the ledger was written by a process of this machine."""
        with suppress(FileNotFoundError):
            return self._mark_file.read_text()
        return ""

    def read(self) -> Erasures:
        """All erasures.

        Raises:
            LakeError: the ledger is damaged or cannot be read, or its key is gone or another.
        """
        try:
            noted = json.loads(self.lake.get(self.file))
            every = tuple(_erasure(one) for one in noted["erasures"])
            fingerprint = noted["key"]
        except FileNotFoundError:
            self._ensure_none_was()
            return Erasures()
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise LakeError(
                str(self.file),
                f"is damaged ({problem}), so it cannot be told whose rows are erased",
                "Put it back from a backup of the lake; the streams go on then",
            ) from problem
        if not every:
            return Erasures()
        try:
            key = self._known_key()
        except FileNotFoundError as problem:
            raise LakeError(
                str(self.key_file),
                "is gone, so it cannot be told whose rows are erased",
                "Put it back from a backup of the lake, or set LAKE_ASSETS_ERASURE_KEY if rows "
                "were erased by that; the streams go on then",
            ) from problem
        if _fingerprint(key) != fingerprint:
            raise LakeError(
                str(self.file),
                "has hashes of another key than "
                + ("LAKE_ASSETS_ERASURE_KEY" if self.key else str(self.key_file)),
                "Set the key by which rows were erased, or put that file back",
            )
        return Erasures(key, every)

    def _ensure_none_was(self) -> None:
        """Make sure that a ledger which is not there never was: `begin` is what comes first."""
        if self.lake.stat(self.key_file) is not None or self.notes():
            raise LakeError(
                str(self.file),
                "is gone, and what lies beside it tells that rows were erased, not whose",
                "Put it back from a backup of the lake; the streams go on then",
            )

    def begin(self) -> None:
        """Have a ledger of nobody, if there is none, before anything else of erasures is there.

        Raises:
            LakeError: there was one and it is gone, or the lake cannot be written.
        """
        if self.lake.stat(self.file) is None:
            self._ensure_none_was()
            self.write(Erasures())

    def write(self, erasures: Erasures) -> None:
        """Put all erasures in the place of those that were there, in one step for readers.

        Raises:
            LakeError: the lake or the state folder cannot be written.
        """
        noted = {
            "key": _fingerprint(erasures.key),
            "erasures": [_noted(erasure) for erasure in erasures.every],
        }
        self.lake.make_folder(self.lake.root / FOLDER)
        with self.lake.open_for_writing(self.file, durable=True) as stream:
            stream.write(json.dumps(noted, indent=1).encode())
        self.lake.sync(self.file)
        self.touch()

    def touch(self) -> None:
        """Have streams look again; whoever died while it wrote may have told them nothing.

        Raises:
            OSError: the state folder cannot be written.
        """
        replace_text(self._mark_file, secrets.token_hex(8))

    def spans(self, feed: str) -> Spans:
        """Where a feed's rows were that were erased: one that is there again is erased again.

        Raises:
            LakeError: a file of them is damaged or cannot be read.
        """
        found: dict[Place, list[tuple[int, int]]] = {}
        for name in sorted(self.lake.list_from(self._spans_folder(feed))):
            for place, spans in self.spans_of(feed, name.removesuffix(".json")).items():
                found.setdefault(place, []).extend(spans)
        return found

    def notes(self) -> list[tuple[str, str]]:
        """The feed and the name of each note (`record`); raises as `spans`."""
        rows = self.lake.root / FOLDER / ROWS
        return [
            (feed, name.removesuffix(".json"))
            for feed in self.lake.folders(rows)
            for name in self.lake.list_from(rows / feed)
        ]

    def spans_of(self, feed: str, name: str) -> Spans:
        """Those of one note (`record`); none if there is no such note; raises as `spans`."""
        file = self._spans_folder(feed) / f"{name}.json"
        try:
            noted = json.loads(self.lake.get(file))
            return {
                (source, int(p)): [(int(a), int(b)) for a, b in its] for source, p, its in noted
            }
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError) as problem:
            raise LakeError(
                str(file),
                f"is damaged ({problem}), so it cannot be told which rows are erased",
                "Put it back from a backup of the lake; the streams go on then",
            ) from problem

    def record(self, feed: str, name: str, spans: Spans) -> None:
        """Note where rows of a feed are that are about to be erased, before any of them is.

        Args:
            feed: whose rows.
            name: of this note; one of the same name is replaced.
            spans: of rows.

        Raises:
            LakeError: the lake cannot be written.
        """
        self.begin()
        folder = self._spans_folder(feed)
        self.lake.make_folder(folder)
        noted = [[*place, [list(one) for one in its]] for place, its in spans.items()]
        with self.lake.open_for_writing(folder / f"{name}.json", durable=True) as stream:
            stream.write(json.dumps(noted).encode())
        self.lake.sync(folder / f"{name}.json")
        self.touch()

    def forget(self, feed: str) -> None:
        """Know no places of a feed any more: its rows get other offsets, and values alone tell.

        Raises:
            LakeError: the lake cannot be written.
        """
        self.lake.delete_folder(self._spans_folder(feed))
        self.touch()

    def _spans_folder(self, feed: str) -> LakeUri:
        return self.lake.root / FOLDER / ROWS / feed

    def ready_key(self) -> bytes:
        """The key, made if there is none."""
        if self.key:
            return self.key
        with suppress(FileNotFoundError):
            return self._known_key()
        self.begin()
        self.lake.put_if_absent(self.key_file, secrets.token_hex(_KEY_BYTES).encode())
        self.lake.sync(self.key_file)
        return self._known_key()

    def take_key(self, key: bytes) -> None:
        """Have a ledger that has no erasures yet know those of a key, unless the settings have it.

        Raises:
            LakeError: the lake cannot be written.
        """
        with suppress(FileNotFoundError):
            if self._known_key() == key:
                return
        self.begin()
        with self.lake.open_for_writing(self.key_file, durable=True) as stream:
            stream.write(key)
        self.lake.sync(self.key_file)

    def _known_key(self) -> bytes:
        return self.key or bytes(self.lake.get(self.key_file))

    @property
    def _mark_file(self) -> Path:
        return self.state_dir / "erasures.mark"


def _fingerprint(key: bytes) -> str:
    return hmac.new(key, b"lake_assets: which erasure key this is", hashlib.sha256).hexdigest()[:32]


def _noted(one: Erasure) -> dict[str, Any]:
    return {
        "id": one.id,
        "requested_at": one.requested_at.isoformat(),
        "column": one.column,
        "digests": list(one.digests),
        "later": one.later.value,
        "cuts": {feed: [[*p, o] for p, o in cuts.items()] for feed, cuts in one.cuts.items()},
        "state": one.state.value,
        "rows": dict(one.rows),
        "is_proved": one.is_proved,
    }


def _erasure(noted: Mapping[str, Any]) -> Erasure:
    return Erasure(
        id=noted["id"],
        requested_at=datetime.fromisoformat(noted["requested_at"]),
        column=noted["column"],
        digests=tuple(noted["digests"]),
        later=Later(noted["later"]),
        cuts={feed: _offsets(found) for feed, found in noted["cuts"].items()},
        state=ErasureState(noted["state"]),
        rows={name: int(count) for name, count in noted["rows"].items()},
        is_proved=noted["is_proved"],
    )


def _offsets(found: list[tuple[str, int, int]]) -> ByPlace:
    return {(name, int(partition)): int(offset) for name, partition, offset in found}
