"""What is Unity's own: who may do what, pages, permissions that survive, long properties."""

import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic import SecretStr

from lake_assets.catalog.entries import UPSTREAM
from lake_assets.catalog.sync import open_catalog, registered_tables, sync
from lake_assets.errors import CatalogError
from lake_assets.settings.catalog import CatalogKind
from lake_assets_tests.catalog.conftest import with_catalog
from lake_assets_tests.catalog.lakes import FEED, UNO, add_tags, fill

ANNA = "anna@example.com"


@pytest.fixture
def lake(of_unity):
    fill(of_unity)
    return of_unity


def full_name(settings, table):
    return f"{settings.catalog.name}.lake_{table.layer.value}.{table.name}"


def test_permissions_survive_a_change_of_columns(lake, unity):
    sync(lake, [FEED])
    place = f"/permissions/table/{full_name(lake, UNO)}"
    granted = [{"principal": ANNA, "add": ["SELECT"], "remove": []}]
    unity.ask("PATCH", place, {"changes": granted})
    add_tags(lake, UNO)
    (action,) = sync(lake, [FEED]).actions
    assert action.why == "has a new column tags"
    assert unity.ask("GET", place) == {
        "privilege_assignments": [{"principal": ANNA, "privileges": ["SELECT"]}]
    }


def test_a_column_says_its_type_in_each_way_that_the_api_has(lake, unity):
    add_tags(lake, UNO)
    sync(lake, [FEED])
    told = unity.ask("GET", f"/tables/{full_name(lake, UNO)}")
    assert (told["table_type"], told["data_source_format"]) == ("EXTERNAL", "DELTA")
    _, ante, tags = told["columns"]
    assert (ante["type_name"], ante["type_text"], ante["position"]) == ("INT", "int", 1)
    assert '"type": "integer"' in ante["type_json"]
    assert (tags["type_name"], tags["type_text"]) == ("ARRAY", "array<string>")


def test_a_long_property_is_in_parts_and_read_as_one(lake):
    with open_catalog(lake) as catalog:
        long = {UPSTREAM: "ab" * 300}
        sync(lake, [FEED])
        (table, *_) = registered_tables(lake)
        fitted = catalog.fitted(replace(table, properties={**table.properties, **long}))
        catalog.update(replace(fitted, columns=()))
    (found, *_) = registered_tables(lake)
    assert found.comes_from == "ab" * 300
    assert max(map(len, found.properties.values())) == 255


def refused(settings, match):
    with pytest.raises(CatalogError, match=match) as caught:
        sync(settings, [FEED])
    return str(caught.value)


def test_a_token_that_is_no_longer_good_is_told_and_not_shown(lake):
    old = SecretStr("yesterdays-token")
    catalog = lake.catalog.model_copy(update={"token": old})
    message = refused(lake.model_copy(update={"catalog": catalog}), "401 UNAUTHENTICATED")
    assert "Renew LAKE_ASSETS_CATALOG_TOKEN" in message
    assert "yesterdays-token" not in message


def test_who_may_not_is_told_what_to_grant(lake, unity):
    unity.refuse("POST", "/schemas", 403, "PERMISSION_DENIED")
    assert "Grant the token's user" in refused(lake, "403 PERMISSION_DENIED: as the test says")


def at(settings, url):
    return settings.model_copy(update={"catalog": settings.catalog.model_copy(update={"url": url})})


def test_another_address_is_told(lake, unity):
    elsewhere = at(lake, f"{unity.url}/elsewhere")
    refused(elsewhere, "answers 404 with what is none of Unity Catalog's answers")


def test_the_address_may_have_the_apis_path(lake, unity):
    found = sync(at(lake, f"{unity.url}/api/2.1/unity-catalog/"), [FEED], dry_run=True)
    assert len(found.actions) == 10


def test_a_server_that_asks_for_patience_is_asked_again(lake, unity):
    unity.refuse("GET", "/catalogs/", 503, "UNAVAILABLE", times=2)
    assert len(sync(lake, [FEED]).actions) == 10
    unity.refuse("GET", "/catalogs/", 429, "RESOURCE_EXHAUSTED")
    refused(lake, "429 RESOURCE_EXHAUSTED")


def test_what_was_cut_off_is_done_by_the_next(lake, unity):
    unity.refuse("POST", "/tables", 500, "INTERNAL")
    refused(lake, "500 INTERNAL")
    unity.forgive()
    assert len(sync(lake, [FEED]).actions) == 6
    add_tags(lake, UNO)
    unity.refuse("POST", "/tables", 500, "INTERNAL")  # between taking it out and putting it back
    refused(lake, "500 INTERNAL")
    unity.forgive()
    (action,) = sync(lake, [FEED]).actions
    assert action.why == "is new"


def test_a_table_that_overlaps_with_somebody_elses_is_told(lake, unity):
    sync(lake, [FEED])
    taken = unity.ask("GET", f"/tables/{full_name(lake, UNO)}")
    unity.ask("DELETE", f"/tables/{full_name(lake, UNO)}")
    keep = ("catalog_name", "schema_name", "table_type", "columns", "storage_location")
    unity.ask("POST", "/tables", {"name": "theirs", **{name: taken[name] for name in keep}})
    refused(lake, "overlaps with theirs")


@pytest.mark.parametrize(
    ("status", "answer", "told"),
    [
        (200, b'{"schemas": "silver"}', "answers with fields that are none"),
        (200, b'{"schemas": [null]}', "answers with fields that are none"),
        (200, b'{"schemas": [], "next_page_token": ["x"]}', "answers with fields that are none"),
        (200, b"<html>log in</html>", "answers 200 with what is none"),
        (200, b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "answers 200 with what is none"),
        (400, b'{"error_code": "X", "message": "a\\nb\\u001b[31m."}', r"\(400 X: a b\?\[31m\)"),
    ],
    ids=["text", "null", "pages", "page of HTML", "deep", "lines"],
)
def test_answers_of_another_shape_are_told_in_a_line(settings, status, answer, told):
    class Odd(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Odd) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        at_odds = with_catalog(settings, kind=CatalogKind.UNITY, url=url)
        try:
            with pytest.raises(CatalogError, match=told) as raised:
                registered_tables(at_odds)
        finally:
            server.shutdown()
    assert "\n" not in str(raised.value)
