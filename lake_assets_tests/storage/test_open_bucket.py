"""Azure and Google: an account; what a store promises there, with `--azurite` and `--gcs` only."""

import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from uuid import uuid4

import pytest

from lake_assets.errors import LakeError, NoBucketError, SettingsError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.conditional import ConditionalFile
from lake_assets.storage.conditions import ensure_conditions
from lake_assets.storage.objects import ObjectStore
from lake_assets_tests.storage.contract import Place, StoreContract
from lake_assets_tests.storage.gcs_xml import PAGE as GCS_PAGE

PAGE = 5_000
"""Names that Azurite tells at once."""


HERE = LakeUri.parse("abfss://box@acc.dfs.core.windows.net/lake")


@pytest.mark.parametrize("name", ["azure_storage_account_name", "account_name", "ACCOUNT_NAME"])
def test_address_and_options_may_both_name_the_account(name):
    assert ObjectStore(HERE, {name: "acc", "azure_storage_account_key": "eA=="}).root == HERE
    with pytest.raises(SettingsError, match="name another account than the address, 'other'"):
        ObjectStore(HERE, {name: "other", "azure_storage_account_key": "eA=="})


class OnceASecond(BaseHTTPRequestHandler):
    """Takes a write when the second after the one before is over, as Google does of a name."""

    before = 0.0

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(429 if time.monotonic() < type(self).before + 1 else 200)
        for name, value in {"ETag": '"x"', "x-goog-generation": "1", "Content-Length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_):
        """Say nothing."""


def test_google_is_asked_again_until_it_takes_a_second_write_of_a_name():
    with ThreadingHTTPServer(("127.0.0.1", 0), OnceASecond) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        options = {
            "google_base_url": f"http://127.0.0.1:{server.server_port}",
            "google_bearer_token": "x",
            "google_allow_http": "true",
        }
        store = ObjectStore(LakeUri.parse("gs://box/lake"), options)
        OnceASecond.before = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            files = [store.root / str(number) for number in range(8)]
            assert all(pool.map(store.put_if_absent, files, [b"x"] * 8))
        server.shutdown()


@pytest.fixture(params=["azurite", pytest.param("gcs", marks=pytest.mark.java)])
def server(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def root(server):
    server.make_bucket(bucket := f"box-{uuid4()}")
    return LakeUri.parse(f"{server.address(bucket)}/some/lake")


@pytest.mark.parametrize("server", ["azurite"], indirect=True)
class TestAzurite(StoreContract):
    """All that a store promises; it lists in the order of JavaScript, which is Java's."""

    @pytest.fixture
    def place(self, server, root):
        store = ObjectStore(root, server.options)
        return Place(store, root, clock_s=1.1, page=PAGE, has_java_s_order=True)


@pytest.mark.java
@pytest.mark.parametrize("server", ["gcs"], indirect=True)
class TestGcs(StoreContract):
    """The same, of what Rust asks Google, in the words of fake-gcs-server."""

    @pytest.fixture
    def place(self, server, root):
        return Place(ObjectStore(root, server.options), root, clock_s=1.1, page=GCS_PAGE)


def test_conditions_are_heeded_and_nothing_is_left_of_the_trial(server, root):
    ensure_conditions(root, server.options)
    assert list(ObjectStore(root, server.options).list_from(root)) == []


def test_a_file_is_replaced_by_one_of_those_who_read_it(server, root):
    one, other = (ConditionalFile(root / "file", server.options) for _ in range(2))
    assert (one.read(), other.read()) == (None, None)
    assert [one.write(b"1"), other.write(b"2")] == [True, False]
    assert other.read() == b"1"
    assert [one.write(b"3"), other.write(b"4")] == [True, False]


def test_a_folder_is_copied(server, root):
    store = ObjectStore(root, server.options)
    for name in ("a", "log/1", "log/2"):
        assert store.put_if_absent(root / "t" / name, name.encode())
    store.copy_folder(root / "t", root / "u", last="log")
    assert [store.get(root / "u" / name) for name in ("a", "log/2")] == [b"a", b"log/2"]


def test_what_it_refuses_is_told(server, root, tmp_path):
    wrong = {**server.options, **server.wrong_login(tmp_path), "max_retries": "0"}
    with pytest.raises(LakeError, match="refuses our credentials"):
        ObjectStore(root, wrong).get(root / "file")
    elsewhere = LakeUri.parse(f"{server.address('no-such-box')}/lake")
    with pytest.raises(NoBucketError, match="there is no bucket"):
        ObjectStore(elsewhere, server.options).put_if_absent(elsewhere / "file", b"x")
