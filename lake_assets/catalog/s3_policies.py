"""Who may read which tables, as policies of AWS for the bucket that they are in. Pure.

A policy names each table's folder: a pattern of names would let in tables of other feeds.
"""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from lake_assets.catalog.entries import CatalogTable
from lake_assets.errors import LakeError

LONGEST = 6144
"""Characters of a managed policy, without white space; more tables are in several."""


def policies(tables: Sequence[CatalogTable]) -> list[dict[str, Any]]:
    """The documents that let somebody read some tables, and nothing else.

    Raises:
        LakeError: they are not in S3.
    """
    places = [_place(table) for table in tables]
    found: list[dict[str, Any]] = []
    for bucket in sorted({bucket for bucket, _ in places}):
        left = [key for of, key in places if of == bucket]
        while left:
            count = _fitting(bucket, left)
            found.append(_document(bucket, left[:count]))
            left = left[count:]
    return found


def _place(table: CatalogTable) -> tuple[str, str]:
    parts = urlsplit(table.location)
    if parts.scheme != "s3":
        fact = f"is at {table.location}, and policies of S3 are for buckets of S3"
        raise LakeError(table.full_name, fact, "Use the permissions of the disk, or of its store")
    return parts.netloc, _literally(unquote(parts.path).strip("/"))


def _literally(path: str) -> str:
    """A path of which a policy takes nothing for a pattern or a variable."""
    return "".join(f"${{{one}}}" if one in "*?$" else one for one in path)


def _fitting(bucket: str, keys: Sequence[str]) -> int:
    """How many of some tables one document has room for; one at least."""
    count = 1
    while count < len(keys) and len(_text(_document(bucket, keys[: count + 1]))) <= LONGEST:
        count += 1
    return count


def _text(document: object) -> str:
    return json.dumps(document, separators=(",", ":"))


def _document(bucket: str, keys: Sequence[str]) -> dict[str, Any]:
    of_bucket = f"arn:aws:s3:::{bucket}"
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "ListTables",
                "Effect": "Allow",
                "Action": ["s3:ListBucket"],
                "Resource": [of_bucket],
                "Condition": {"StringLike": {"s3:prefix": [f"{key}/*" for key in keys]}},
            },
            {
                "Sid": "ReadTables",
                "Effect": "Allow",
                "Action": ["s3:GetObject"],
                "Resource": [f"{of_bucket}/{key}/*" for key in keys],
            },
        ],
    }
