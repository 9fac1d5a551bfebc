"""A place of files as another process of a test made it."""

import json
from pathlib import Path

from lake_assets_tests.sources.files.buckets import Bucketed
from lake_assets_tests.sources.files.folders import Folder
from lake_assets_tests.storage.servers import S3Server


def opened_from_json(text):
    """What `as_json` of a folder, or of a prefix of a bucket, told."""
    told = json.loads(text)
    root = Path(told["root"])
    if "url" not in told:
        return Folder(root)
    return Bucketed(root, server=S3Server(told["url"]), bucket=told["bucket"])
