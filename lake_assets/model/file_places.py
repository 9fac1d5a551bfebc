"""Where files of feeds are: paths of folders, addresses of buckets, and who may read those.

What such a place is read by is `storage`'s and `sources.files`'.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from lake_assets.model.rest import Secret

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")

_BUCKET = re.compile(
    r"(?P<kind>s3|s3a|gs|az|abfss?)://(?P<bucket>[A-Za-z0-9][A-Za-z0-9._@-]*)(?:/(?P<path>.*))?"
)

_SECRET = re.compile(r"secret|password|passwd|token|sas|signature|bearer|headers|_key$|_base64$")
"""Names of options whose values are secret."""

_NO_SECRET = re.compile(r"_(?:file|path|uri|url|endpoint|id)$|^skip_|_skip_")
"""Those of them whose values only say where one is."""

_LOGIN = re.compile(r"://[^/@]*@")


def is_bucket(path: str) -> bool:
    """Whether a place is in a bucket."""
    return _ADDRESS.match(path) is not None


def _folder(value: str) -> str:
    if not Path(value).is_absolute():
        message = f"{value!r} is no absolute path of a folder\n"
        message += "write it from `/` on, as /data/arriving, or as s3://bucket/prefix"
        raise ValueError(message)
    if ".." in Path(value).parts:
        message = f"{value!r} has `..` in it\nwrite where the folder is"
        raise ValueError(message)
    return str(Path("/", value.lstrip("/")))  # two slashes at the begin would be another path


def _place(value: str) -> str:
    if not is_bucket(value):
        return _folder(value)
    found = _BUCKET.fullmatch(value)
    path = (found["path"] or "").strip("/") if found else ""
    parts = path.split("/") if path else []
    if found is None or any(part in {"", ".", ".."} or not part.isprintable() for part in parts):
        message = f"{value!r} is no address of a bucket and a prefix\nwrite s3://bucket/prefix"
        raise ValueError(message)
    return f"{found['kind']}://{found['bucket']}/{path}".removesuffix("/")


FolderPath = Annotated[str, AfterValidator(_folder)]
PlacePath = Annotated[str, AfterValidator(_place)]


def refuse_archive(path: str, archive: str, *, is_deep: bool) -> None:
    """Refuse an archive that files cannot go to, or would be found in again.

    Args:
        path: where files are.
        archive: where they go.
        is_deep: whether files of folders in it are read, which keep their folders' names.

    Raises:
        ValueError: with what is wrong.
    """
    if is_bucket(path) != is_bucket(archive) or _bucket_of(path) != _bucket_of(archive):
        where = "its own bucket" if is_bucket(path) else "a folder"
        message = f"archive: files of {path} can be moved within {where} alone"
        raise ValueError(message)
    if f"{archive}/".startswith(f"{path.rstrip('/')}/"):
        message = "archive: files would be found there again\nname a folder that is not in path"
        raise ValueError(message)
    if is_deep and f"{path}/".startswith(f"{archive.rstrip('/')}/"):
        message = "archive: path is in it, so that files of folders may be found there again"
        raise ValueError(message)


def refuse_options(
    options: Mapping[str, str], secrets: Mapping[str, Secret], *, is_bucket: bool
) -> None:
    """Refuse options of no bucket, and secrets that are written into a feed.

    Raises:
        ValueError: with what is wrong; without what may be secret.
    """
    if (options or secrets) and not is_bucket:
        message = "options and secrets are for a bucket: a folder has none"
        raise ValueError(message)
    twice = sorted(options.keys() & secrets.keys())
    if twice:
        message = f"{twice[0]} is among both options and secrets"
        raise ValueError(message)
    for name, value in options.items():
        spelled = name.lower()
        is_secret = _SECRET.search(spelled) and not _NO_SECRET.search(spelled)
        if is_secret or _LOGIN.search(value):
            message = f"options: {name} may be secret\nname its variable in `secrets`"
            raise ValueError(message)


def _bucket_of(path: str) -> str:
    found = _BUCKET.fullmatch(path)
    return f"{found['kind']}://{found['bucket']}" if found else ""
