"""Moto's Kinesis as a process: `python -m …`, which tells its port and ends with its input.

Where moto (5.2) is not as Kinesis is, it is made so: what is split or merged keeps its records and
ends, sequence numbers grow over all shards and have 186 bits, records that are older than the
retention are gone, and so are ended shards. Tests may put its clock forward, and have it refuse.
"""

import itertools
import json
import sys
import threading
from collections import OrderedDict, defaultdict
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qs

from moto.kinesis import models as moto_models
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

models: Any = moto_models  # what it is made to do is no business of its types
ahead = [timedelta()]
refusals = defaultdict(list)
numbers = itertools.count(
    49_590_338_271_490_256_608_559_692_538_361_571_095_921_575_989_136_588_898
)


def now():
    return datetime.now(UTC).replace(tzinfo=None) + ahead[0]


def put_record(shard, partition_key, data, explicit_hash_key):
    number = next(numbers)
    shard.records[number] = models.Record(partition_key, data, number, explicit_hash_key)
    return str(number)


def shard_for_key(stream, partition_key, explicit_hash_key):
    key = int(
        explicit_hash_key or models.md5_hash(partition_key.encode()).hexdigest(),
        0 if explicit_hash_key else 16,
    )
    return next(
        s for s in stream.shards.values() if s.is_open and s.starting_hash <= key <= s.ending_hash
    )


def keeping_records(change):
    def changed(stream, *shards):
        kept = {name: stream.shards[name].records for name in shards if name in stream.shards}
        for name in kept:
            stream.shards[name].records = OrderedDict()
        change(stream, *shards)
        for name, records in kept.items():
            stream.shards[name].records, stream.shards[name].closed_at = records, now()

    return changed


def trim(stream):
    oldest = now() - timedelta(hours=stream.retention_period_hours)
    for name, shard in list(stream.shards.items()):
        for number, record in list(shard.records.items()):
            if record.created_at_datetime < oldest:
                del shard.records[number]
        if not shard.is_open and shard.closed_at < oldest:
            del stream.shards[name]


def get_records(backend, stream_arn, shard_iterator, limit):
    name, shard_id, last = models.decompose_shard_iterator(shard_iterator)
    shard = backend.describe_stream(stream_arn=stream_arn, stream_name=name).get_shard(shard_id)
    behind = [record for number, record in shard.records.items() if number > int(last)]
    found, rest = behind[:limit], behind[limit:]
    last = found[-1].sequence_number if found else last
    is_over = not rest and not shard.is_open
    age_ms = (
        max(1, int(models.unix_time(now()) * 1000 - found[-1].created_at * 1000)) if rest else 0
    )
    following = None if is_over else models.compose_shard_iterator(name, shard, last)
    return following, found, age_ms


def describe_stream(
    backend, stream_arn, stream_name, described=models.KinesisBackend.describe_stream
):
    stream = described(backend, stream_arn=stream_arn, stream_name=stream_name)
    trim(stream)
    return stream


models.utcnow = now
models.Shard.put_record = put_record
models.Stream.get_shard_for_key = shard_for_key
models.Stream.split_shard = keeping_records(models.Stream.split_shard)
models.Stream.merge_shards = keeping_records(models.Stream.merge_shards)
models.KinesisBackend.get_records = get_records
models.KinesisBackend.describe_stream = describe_stream

moto, turn = DomainDispatcherApplication(create_backend_app), threading.Lock()


def control(path, query):
    if path == "/_test/forward":
        ahead[0] += timedelta(hours=float(query["hours"][0]))
    else:
        refusals[query["action"][0]] += query["code"] * int(query["times"][0])


def app(environ, start_response):
    with turn:
        if environ["PATH_INFO"].startswith("/_test/"):
            control(environ["PATH_INFO"], parse_qs(environ["QUERY_STRING"]))
            start_response("204 No Content", [])
            return []
        action = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
        if refusals[action]:
            body = json.dumps({"__type": refusals[action].pop(), "message": "as a test says"})
            start_response("400 Bad Request", [("Content-Type", "application/x-amz-json-1.1")])
            return [body.encode()]
        return list(moto(environ, start_response))


class Handler(WSGIRequestHandler):
    def date_time_string(self, timestamp=None):  # noqa: ARG002 - the library's
        return format_datetime(now().replace(tzinfo=UTC), usegmt=True)


if __name__ == "__main__":
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()  # until whoever started it ends
    server.shutdown()
