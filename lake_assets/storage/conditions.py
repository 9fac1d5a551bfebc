"""Whether a bucket's server heeds the conditions that commits and the lease rest on: a trial.

A file is to be put only where there is none (`If-None-Match`), by one of those who put it at once,
and only in place of what was read (`If-Match`). Some servers that speak S3 pass over these headers,
and some look first and put then: two writers of a lake would lose each other's rows there.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.conditional import version_of
from lake_assets.storage.object_errors import told
from lake_assets.storage.objects import ObjectStore
from lake_assets.storage.open_bucket import Bucket, open_bucket

if TYPE_CHECKING:
    from obstore import PutMode

_AT_ONCE, _ROUNDS, _BYTES = 8, 3, 256 * 1024
"""Puts at once of a file of such a size: of 30 trials on a server that looks first and puts then
(S3Proxy 2.9), one round found it out in 25, and of small files in 13."""

_NOT_KNOWN = "501 Not Implemented"


def ensure_conditions(root: LakeUri, options: Mapping[str, str]) -> None:
    """Make sure that a bucket heeds conditions; what is put there for it is deleted again.

    Args:
        root: of the lake.
        options: of its bucket, as deltalake takes them.

    Raises:
        LakeError: it does not, or cannot be read, written or deleted from.
        SettingsError: an option cannot be used.
    """
    store, bucket = ObjectStore(root, options), open_bucket(root, options)

    def round_of(file: LakeUri) -> None:
        try:
            _try(bucket, root, file)
        finally:
            with suppress(LakeError):  # what it came to says more
                store.delete(file)

    files = [root / f"_conditions-{uuid4().hex}" for _ in range(_ROUNDS)]
    with ThreadPoolExecutor(_ROUNDS) as pool:
        list(pool.map(round_of, files))


def _try(bucket: Bucket, root: LakeUri, file: LakeUri) -> None:
    def is_made(number: int) -> bool:
        return _is_put(bucket, file, number.to_bytes() * _BYTES, "create")

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        made = sum(pool.map(is_made, range(_AT_ONCE)))
    if made > 1:
        raise _unheeded(root, "If-None-Match: *")
    with told(file, "read"):
        first = version_of(obstore.get(bucket, file.path).meta)
    _is_put(bucket, file, b"second", first)  # refused if the answer to it was lost, and it is there
    if _is_put(bucket, file, b"third", first):
        raise _unheeded(root, "If-Match")
    with told(file, "read"):
        if bytes(obstore.get(bucket, file.path).bytes()) != b"second":
            raise _unheeded(root, "If-Match")


def _is_put(bucket: Bucket, file: LakeUri, content: bytes, mode: "PutMode") -> bool:
    with told(file, "written"):
        try:
            obstore.put(bucket, file.path, content, mode=mode, use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            return False
        except BaseError as problem:
            if _NOT_KNOWN in str(problem):
                raise _unheeded(file, "If-None-Match and If-Match") from problem
            raise
    return True


def _unheeded(place: LakeUri, condition: str) -> LakeError:
    fact = f"is in a store that does not heed {condition}: two writers would lose rows there"
    step = "Keep the lake in one that does, as AWS, MinIO and Ceph do, maybe in a newer release"
    return LakeError(str(place), fact, step)
