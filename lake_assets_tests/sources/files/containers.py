"""Avro containers as a program of ours would write them, and as one would that is broken."""

import bz2
import io
import json
import lzma
import zlib

import fastavro
import pyarrow as pa

SYNC = b"0123456789abcdef"

BEAT = {
    "type": "record",
    "name": "Beat",
    "fields": [{"name": "bpm", "type": "int"}, {"name": "model", "type": "string"}],
}


def varint(number):
    raw, out = (number << 1) ^ (number >> 63), b""
    raw &= 2**64 - 1
    while raw > 127:
        out += bytes([raw & 127 | 128])
        raw >>= 7
    return out + bytes([raw])


def text(value):
    return varint(len(value)) + value


def header(schema=BEAT, codec=b"null"):
    told = {b"avro.schema": schema if isinstance(schema, bytes) else json.dumps(schema).encode()}
    if codec:
        told[b"avro.codec"] = codec
    pairs = b"".join(text(key) + text(value) for key, value in told.items())
    return b"Obj\x01" + varint(len(told)) + pairs + varint(0) + SYNC


def datum(row, schema=BEAT):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return out.getvalue()


def beats(*numbers):
    return [datum({"bpm": number, "model": f"m{number}"}) for number in numbers]


def block(data, count=None, size=None, sync=SYNC):
    """A block of records, or of bytes that are to be some."""
    whole = data if isinstance(data, bytes) else b"".join(data)
    told = len(data) if count is None else count
    return varint(told) + varint(len(whole) if size is None else size) + whole + sync


def deflated(data):
    made = zlib.compressobj(wbits=-15)
    return made.compress(data) + made.flush()


COMPRESS = {
    "null": bytes,
    "deflate": deflated,
    "snappy": lambda data: (
        pa.Codec("snappy").compress(data, asbytes=True) + zlib.crc32(data).to_bytes(4, "big")
    ),
    "zstandard": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
