import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event, Thread

import obstore
import pytest

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage import bucket_files
from lake_assets.storage.bucket_files import BucketFiles, ObjectSeen, OtherContentError
from lake_assets.storage.open_bucket import open_bucket
from lake_assets_tests.storage.servers import KEYS


@pytest.fixture
def root(bucket):
    return LakeUri.parse(f"s3://{bucket}")


@pytest.fixture
def put(s3, root):
    opened = open_bucket(root, s3.options)
    return lambda key, content: obstore.put(opened, key, content)


@pytest.fixture
def files(s3, root):
    return BucketFiles(root, s3.options)


def listed(files, prefix="", **given):
    return [one for page in files.pages(prefix, **given) for one in page]


def test_a_list_and_a_look_tell_the_same_of_a_file_with_a_tag_without_quotes(files, put):
    put("in/a", b"hello")
    put("inside", b"x")
    (seen,) = listed(files, "in")
    assert seen == files.stat("in/a")
    assert (seen.key, seen.size, seen.etag) == ("in/a", 5, "5d41402abc4b2a76b9719d911017c592")
    assert files.stat("in/none") is None


def test_lists_come_in_pages_and_begin_after_a_key(files, put):
    for number in range(5):
        put(f"in/{number}", b"x")
    assert [len(page) for page in files.pages("in", most=2)] == [2, 2, 1]
    assert [one.key for one in listed(files, "in", after="in/2")] == ["in/3", "in/4"]


def test_ranges_of_just_the_content_that_was_seen_are_read(files, put):
    put("a", b"0123456789")
    seen = files.stat("a")
    assert files.read(seen, 2, 5) == b"234"
    put("a", b"abcdefghijklm")
    for wrong in (seen, files.stat("a")._replace(etag="none")):
        with pytest.raises(OtherContentError):
            files.read(wrong, 2, 5)
    assert files.read(files.stat("a"), 2, 5) == b"cde"
    untagged = files.stat("a")._replace(etag="")  # of a server that gives none
    assert files.read(untagged, 2, 5) == b"cde"
    files.delete("a")
    files.delete("a")
    with pytest.raises(FileNotFoundError):
        files.read(seen, 0, 1)


def test_files_are_the_same_by_their_content_whatever_their_tags(files, put):
    put("a", b"hello")
    put("b", b"hello")
    put("c", b"other")
    put("d", b"longer")
    a, b, c, d = (files.stat(key) for key in "abcd")
    assert files.is_same(a, b)
    assert files.is_same(a, b._replace(etag=""))
    assert not files.is_same(a, c)
    assert not files.is_same(a, d)


def test_a_declared_key_is_not_asked_with_a_token_of_the_environment(monkeypatch):
    """As on a machine whose own credentials, the lake's, are of a role."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-the-machine")
    headers = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            headers.append(self.headers)
            self.send_error(403)

    with answering(Answer) as options:
        for token in ({}, {"aws_session_token": "ours"}):
            files = BucketFiles(LakeUri.parse("s3://b"), {**options, **token})
            with pytest.raises(LakeError, match="the store refuses our credentials"):
                next(files.pages(""))
    assert [given["x-amz-security-token"] for given in headers] == [None, "ours"]
    assert "Credential=test/" in headers[0]["authorization"]


def test_a_machine_s_role_is_asked_for_once_by_all_that_read_a_bucket(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    login = {"AccessKeyId": "of-the-role", "SecretAccessKey": "x", "Token": "y"}
    asked = []

    class Machine(BaseHTTPRequestHandler):
        def do_PUT(self):
            self.answer("token")

        def do_GET(self):
            asked.append(self.path)
            if self.path.endswith("/security-credentials/"):
                self.answer("role")
            elif self.path.endswith("/role"):
                self.answer(json.dumps({**login, "Expiration": "2100-01-01T00:00:00Z"}))
            else:
                self.answer("<ListBucketResult></ListBucketResult>")

        def answer(self, text):
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

    with answering(Machine) as options:
        given = {name: value for name, value in options.items() if name not in KEYS}
        role = {"aws_metadata_endpoint": options["aws_endpoint"], **given}
        for _ in range(3):
            files = BucketFiles(LakeUri.parse("s3://b/in"), {**role, "aws_region": "r"})
            assert listed(files) == []
    assert sum(path.endswith("/role") for path in asked) == 1
    assert sum("list-type=2" in path for path in asked) == 3


def test_a_copy_is_waited_for_as_long_as_copies_take(monkeypatch):
    """Not for the 30 s of other requests, of which there is no test that is short."""
    monkeypatch.setattr(bucket_files, "_COPY_TIMEOUT", "1ms")
    come = Event()

    class Slow(BaseHTTPRequestHandler):
        def do_PUT(self):
            come.wait(60)
            self.send_error(500)

    with answering(Slow) as options:
        files = BucketFiles(LakeUri.parse("s3://b"), {**options, "max_retries": "0"})
        with pytest.raises(LakeError, match="cannot be copied: the store does not answer"):
            files.copy(ObjectSeen("a", 1, 0, "tag"), "b")
        come.set()


@contextmanager
def answering(handler):
    """Options of a server that is none of S3."""
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        yield {**KEYS, "aws_endpoint": url, "aws_allow_http": "true"}
        server.shutdown()


def test_tags_of_azure_and_google_say_nothing_of_the_content(root):
    azure = BucketFiles(LakeUri.parse("az://c/x"), {"azure_storage_account_name": "account"})
    assert not azure.are_alike("0x8D", "0x8D")
    s3 = BucketFiles(root, {"aws_skip_signature": "true"})
    assert s3.are_alike("0x8D", "0x8D")
    assert not s3.are_alike("", "")
    assert not s3.are_alike("a", "b")


def test_a_copy_takes_the_place_of_another_file(files, put):
    put("a", b"hello")
    put("b", b"before")
    files.copy(files.stat("a"), "b")
    assert files.stat("b").etag == files.stat("a").etag
