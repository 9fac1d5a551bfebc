"""Google's XML API in the words of its JSON API: what fake-gcs-server lacks of what Rust asks.

Names, contents, generations and conditions are that server's; of its own this has the parts of an
unfinished upload alone, and whether a file that is read is the one that `If-Match` says.
"""

import http.client
import json
import re
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit
from xml.sax.saxutils import escape

PAGE = 100
"""Names that a list tells at once; Google's tells a thousand."""

_DONE, _NOT_FOUND, _NOT_MET = 200, 404, 412

_WRITES_APART_S = 1.0

_GENERATION = "x-goog-generation"
_IF_GENERATION = "x-goog-if-generation-match"

_OF_A_FILE = {"content-type", "content-range", "content-length", "etag", "last-modified"}
_OF_A_FILE |= {"accept-ranges", _GENERATION, "x-goog-hash"}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request, whose header names are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    """What is answered."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def _refused(status: int, code: str, message: str) -> Answer:
    text = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return Answer(status, {"content-type": "application/xml"}, text.encode())


def _told(root: str, *inside: str, **headers: str) -> Answer:
    text = f"<?xml version='1.0' encoding='UTF-8'?><{root}>{''.join(inside)}</{root}>"
    return Answer(200, {"content-type": "application/xml", **headers}, text.encode())


def _element(name: str, value: object) -> str:
    return f"<{name}>{escape(str(value))}</{name}>"


class Server:
    """A fake-gcs-server at an address, which each thread has a connection of its own to."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._own = threading.local()

    def ask(self, asked: Asked) -> Answer:
        """Ask it as it is."""
        connection = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = http.client.HTTPConnection(self._address)
        headers = {"Host": "storage.googleapis.com", **asked.headers}
        connection.request(asked.method, asked.path, asked.body or None, headers)
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, headers, answer.read())

    def has(self, bucket: str) -> bool:
        return self.ask(Asked(method="GET", path=_in(bucket), headers={})).status == _DONE


def _in(bucket: str, *rest: str, **query: str) -> str:
    path = "/".join(["/storage/v1/b", quote(bucket, safe=""), *rest])
    return f"{path}?{urlencode(query)}" if query else path


_TOO_OFTEN = _refused(429, "SlowDown", "The object exceeded the rate limit for mutations.")


class XmlApi:
    """Answers requests of the XML API by asking a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._parts: dict[str, dict[int, bytes]] = {}
        self._written: dict[tuple[str, str], float] = {}

    def answer(self, asked: Asked) -> Answer:
        """Do what is asked of `/bucket` or `/bucket/name`."""
        url = urlsplit(asked.path)
        bucket, _, name = url.path[1:].partition("/")
        bucket, name = unquote(bucket), unquote(name)
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        found = self._of_name(bucket, name, asked, query) if name else self._list(bucket, query)
        if found.status != _NOT_FOUND or found.body.startswith(b"<Error>"):
            return found
        if not self._server.has(bucket):
            return _refused(_NOT_FOUND, "NoSuchBucket", "The specified bucket does not exist.")
        return _refused(_NOT_FOUND, "NoSuchKey", "The specified key does not exist.")

    def _of_name(self, bucket: str, name: str, asked: Asked, query: Mapping[str, str]) -> Answer:
        if "uploads" in query:
            return self._begin(bucket)
        if "uploadId" in query:
            return self._in_parts(bucket, name, asked, query)
        if asked.method == "PUT":
            is_copy = "x-goog-copy-source" in asked.headers
            put = self._copy if is_copy else self._put
            return put(bucket, name, asked)
        if asked.method == "DELETE":
            return self._delete(bucket, name)
        return self._read(bucket, name, asked)

    def _is_too_often(self, bucket: str, name: str) -> bool:
        """Google takes one write of a name a second, of whomever."""
        last = self._written.get((bucket, name))
        return last is not None and time.monotonic() - last < _WRITES_APART_S

    def _delete(self, bucket: str, name: str) -> Answer:
        if self._is_too_often(bucket, name):
            return _TOO_OFTEN
        path = _in(bucket, "o", quote(name, safe=""))
        answer = self._server.ask(Asked(method="DELETE", path=path, headers={}))
        if answer.status != _DONE:
            return answer
        self._written[bucket, name] = time.monotonic()
        return Answer(204)

    def _list(self, bucket: str, query: Mapping[str, str]) -> Answer:
        start, delimiter = query.get("start-after", ""), query.get("delimiter", "")
        names = {"prefix": query.get("prefix", ""), "delimiter": delimiter, "startOffset": start}
        if token := query.get("continuation-token"):
            names["pageToken"] = token
        if not delimiter:  # its pages tell prefixes more than once
            names["maxResults"] = query.get("max-keys", str(PAGE))
        answer = self._server.ask(Asked(method="GET", path=_in(bucket, "o", **names), headers={}))
        if answer.status != _DONE:
            return answer
        found: dict[str, Any] = json.loads(answer.body)
        files = [one for one in found.get("items", []) if one["name"] > start]
        more = found.get("nextPageToken", "")
        return _told(
            "ListBucketResult",
            _element("Name", bucket),
            _element("IsTruncated", str(bool(more)).lower()),
            _element("NextContinuationToken", more) if more else "",
            *(_listed(one) for one in files),
            *(
                f"<CommonPrefixes>{_element('Prefix', one)}</CommonPrefixes>"
                for one in found.get("prefixes", [])
            ),
        )

    def _read(self, bucket: str, name: str, asked: Asked) -> Answer:
        path = "/download" + _in(bucket, "o", quote(name, safe=""), alt="media")
        kept = {name: value for name, value in asked.headers.items() if name == "range"}
        answer = self._server.ask(Asked(method=asked.method, path=path, headers=kept))
        headers = {name: answer.headers[name] for name in _OF_A_FILE & answer.headers.keys()}
        wanted = asked.headers.get("if-match")
        is_there = answer.status != _NOT_FOUND
        if is_there and wanted not in {None, "*", headers.get("etag")}:
            return _refused(_NOT_MET, "PreconditionFailed", "It is another one.")
        return Answer(answer.status, headers, answer.body)

    def _put(self, bucket: str, name: str, asked: Asked) -> Answer:
        """Put a file whole; whether it may be put, the server decides."""
        if self._is_too_often(bucket, name):
            return _TOO_OFTEN
        query = {"uploadType": "media", "name": name}
        if (generation := asked.headers.get(_IF_GENERATION)) is not None:
            query["ifGenerationMatch"] = generation
        path = "/upload" + _in(bucket, "o", **query)
        kind = {"content-type": asked.headers.get("content-type", "application/octet-stream")}
        answer = self._server.ask(Asked(method="POST", path=path, headers=kind, body=asked.body))
        if answer.status == _NOT_MET:
            return _refused(_NOT_MET, "PreconditionFailed", "It is another, or is there already.")
        if answer.status != _DONE:
            return answer
        self._written[bucket, name] = time.monotonic()
        made = json.loads(answer.body)
        return Answer(200, {"etag": f'"{made["etag"]}"', _GENERATION: made["generation"]})

    def _copy(self, bucket: str, name: str, asked: Asked) -> Answer:
        source, _, key = asked.headers["x-goog-copy-source"].lstrip("/").partition("/")
        whole = Asked(method="GET", path="", headers={})
        found = self._read(unquote(source), unquote(key), whole)
        if found.status != _DONE:
            return found
        put = self._put(bucket, name, replace(asked, body=found.body))
        return _said_in_xml("CopyObjectResult", put)

    def _begin(self, bucket: str) -> Answer:
        if not self._server.has(bucket):
            return Answer(_NOT_FOUND)
        upload = uuid.uuid4().hex
        self._parts[upload] = {}
        return _told("InitiateMultipartUploadResult", _element("UploadId", upload))

    def _in_parts(self, bucket: str, name: str, asked: Asked, query: Mapping[str, str]) -> Answer:
        upload, number = query["uploadId"], query.get("partNumber", "")
        parts = self._parts.get(upload)
        if parts is None:
            message = "The specified upload does not exist."
            return _refused(_NOT_FOUND, "NoSuchUpload", message)
        if asked.method == "PUT":
            parts[int(number)] = asked.body
            return Answer(200, {"etag": f'"{upload}-{number}"'})
        del self._parts[upload]
        if asked.method == "DELETE":
            return Answer(204)
        wanted = [int(one) for one in re.findall(rb"<PartNumber>(\d+)</PartNumber>", asked.body)]
        if not wanted or any(one not in parts for one in wanted):
            return _refused(400, "InvalidPart", "A part is not there.")
        whole = replace(asked, body=b"".join(parts[one] for one in wanted))
        return _said_in_xml("CompleteMultipartUploadResult", self._put(bucket, name, whole))


def _said_in_xml(root: str, put: Answer) -> Answer:
    """Of a file that was put, what is told of it in an element."""
    if put.status != _DONE:
        return put
    told = {_GENERATION: put.headers[_GENERATION]}
    return _told(root, _element("ETag", put.headers["etag"]), **told)


def _listed(one: Mapping[str, Any]) -> str:
    inside = {
        "Key": one["name"],
        "LastModified": one["updated"],
        "ETag": f'"{one["etag"]}"',
        "Size": one["size"],
        "Generation": one["generation"],
    }
    return f"<Contents>{''.join(_element(*pair) for pair in inside.items())}</Contents>"
