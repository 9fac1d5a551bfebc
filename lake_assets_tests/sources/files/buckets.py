"""What tests of files in buckets share: a prefix of a bucket beside a lake on the disk."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import obstore

from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.rest import Secret
from lake_assets.model.sources import Source
from lake_assets.storage.bucket_files import BucketFiles
from lake_assets.storage.open_bucket import open_bucket
from lake_assets_tests.sources.files.folders import JSON, Folder, as_lines
from lake_assets_tests.storage.servers import S3Server

KEY_ID, KEY = "BUCKET_TEST_KEY_ID", "BUCKET_TEST_KEY"
"""Variables that have the credentials; a fixture sets them."""

SHORT = {"max_retries": "2", "retry_timeout": "5", "timeout": "20s"}


@dataclass
class Bucketed(Folder):
    """A prefix `in` of a bucket."""

    root: Path
    server: S3Server = field(kw_only=True)
    bucket: str = field(kw_only=True)

    @property
    def address(self) -> str:
        return f"s3://{self.bucket}/in"

    @property
    def options(self) -> Mapping[str, str]:
        url = self.server.url
        return {"aws_endpoint": url, "aws_allow_http": "true", "aws_region": "us-east-1", **SHORT}

    @property
    def files(self) -> BucketFiles:
        """The bucket, without what is under test of it."""
        return BucketFiles(LakeUri.parse(f"s3://{self.bucket}"), self.server.options)

    def archived(self):
        return self.names("done")

    def put_archived(self, name, content):
        obstore.put(self._bucket, f"done/{name}", content)

    def leaving(self, way):
        return {"archive": f"s3://{self.bucket}/done"} if way == "archive" else {"delete": True}

    def as_json(self):
        told = {"root": str(self.root), "url": self.server.url, "bucket": self.bucket}
        return json.dumps(told)

    def put_bytes(self, name, content):
        obstore.put(self._bucket, f"in/{name}", content)

    def put_in_parts(self, name, content):
        """So that its tag is none of the content alone."""
        obstore.put(self._bucket, f"in/{name}", content, use_multipart=True)

    def put(self, name, *rows):
        self.put_bytes(name, as_lines(rows))

    def remove(self, name):
        obstore.delete(self._bucket, f"in/{name}")

    def get(self, key):
        return bytes(obstore.get(self._bucket, key).bytes())

    def names(self, prefix="in"):
        found = [one.key for page in self.files.pages(prefix) for one in page]
        return sorted(key.removeprefix(f"{prefix}/") for key in found)

    def feed(self, payload=JSON, **declared):
        given: dict[str, Any] = {
            "path": self.address,
            "format": "jsonl",
            "options": self.options,
            "secrets": {
                "aws_access_key_id": Secret(env=KEY_ID),
                "aws_secret_access_key": Secret(env=KEY),
            },
            **declared,
        }
        return Feed(feed="beats", source=Source(files=FilesSource(**given)), payload=payload)

    @property
    def _bucket(self):
        return open_bucket(LakeUri.parse(f"s3://{self.bucket}"), self.server.options)
