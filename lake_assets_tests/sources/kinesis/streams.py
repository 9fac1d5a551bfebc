"""What tests of streams share: a server, streams of it, what landed of one."""

import json
import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
import httpx
from pydantic import SecretStr

from lake_assets.model.kinesis_source import KinesisSource
from lake_assets.sources.kinesis.landing import StreamLanding
from lake_assets.sources.landing.table import handle_of

KEYS = {"KEY_ID": SecretStr("AKIATEST"), "KEY_SECRET": SecretStr("hunter2hunter2")}
"""By their variables what feeds of tests name."""

HALF = 2**127
"""The middle of the hashes of keys."""


@dataclass(kw_only=True)
class DataStream:
    """A stream of a server, as those who put records into it see it."""

    url: str
    name: str
    client: Any = field(repr=False)

    def create(self, shards=1, **more):
        self.client.create_stream(StreamName=self.name, ShardCount=shards, **more)
        return self

    def put(self, *rows, half=0, key="k"):
        """Rows as JSON, or bytes, into the shard that has the lower or upper half of hashes."""
        for row in rows:
            data = row if isinstance(row, bytes) else json.dumps(row).encode()
            where = str(half * HALF + 1)
            self.client.put_record(
                StreamName=self.name, Data=data, PartitionKey=key, ExplicitHashKey=where
            )

    def split(self, shard):
        self.client.split_shard(
            StreamName=self.name, ShardToSplit=_id(shard), NewStartingHashKey=str(HALF)
        )

    def merge(self, one, other):
        self.client.merge_shards(
            StreamName=self.name, ShardToMerge=_id(one), AdjacentShardToMerge=_id(other)
        )

    def again(self, shards=1):
        self.client.delete_stream(StreamName=self.name)
        return self.create(shards)

    def forward(self, hours):
        """Let time pass, for all streams of the server."""
        _tell(f"{self.url}/_test/forward?hours={hours}")

    def refuse(self, code, *, action="GetRecords", times=1):
        _tell(f"{self.url}/_test/fail?action={action}&code={code}&times={times}")

    def source(self, **declared):
        """As a feed declares it."""
        given = {
            "stream": self.name,
            "region": "eu-central-1",
            "endpoint_url": self.url,
            "access_key": {"id": {"env": "KEY_ID"}, "secret": {"env": "KEY_SECRET"}},
            **declared,
        }
        return KinesisSource.model_validate(given)


def _id(number):
    return f"shardId-{number:012}"


def _tell(url):
    httpx.post(url, trust_env=False, timeout=60).raise_for_status()


@contextmanager
def running_kinesis():
    """Makes streams, each with a name of its own, until the end of the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "lake_assets_tests.sources.kinesis.moto_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        try:
            url = f"http://127.0.0.1:{int(server.stdout.readline())}"
            client = boto3.client(
                "kinesis",
                endpoint_url=url,
                region_name="eu-central-1",
                aws_access_key_id="test",
                aws_secret_access_key="test",  # noqa: S106 - moto takes any
            )
            made = iter(range(1_000_000))
            yield lambda: DataStream(url=url, name=f"play-{next(made)}", client=client)
        finally:
            server.communicate(timeout=30)


def land(source, lake, feed="play"):
    """Do what a process does that has just started; the offset that comes next."""
    with closing(StreamLanding(source, lake, feed, KEYS.__getitem__)) as landing:
        while landing.step():
            pass
        return landing.end


def landed(lake, *columns, feed="play"):
    """What landed, in its order: of one column its values, else rows of several."""
    rows = handle_of(lake, feed).to_pyarrow_table().sort_by("ordinal").to_pylist()
    found = [tuple(row[c] for c in columns) for row in rows if row["ordinal"] is not None]
    return [row[0] for row in found] if len(columns) == 1 else found


def values(lake, feed="play"):
    """The JSON that landed."""
    return [json.loads(value) for value in landed(lake, "value", feed=feed)]
