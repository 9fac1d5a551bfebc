"""A server of Unity Catalog's REST API, as a process of its own, held to the official contract.

The open server cannot be had from a registry. This one takes and gives what `unity_openapi.yaml`
allows and nothing else, and does what the open server's source does with it: names and places are
unique, an entry cannot be changed, a property's value has 255 characters at most, and a deletion
is answered with words.

    python unity_server.py [token]

prints its port and ends with its standard input. `POST /_test/refuse` has it refuse what comes.
"""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import yaml
from jsonschema import Draft4Validator

CONTRACT = yaml.safe_load(Path(__file__).with_name("unity_openapi.yaml").read_text())
PAGE = 2
"""Entries of a page; the real one gives 50."""

BASE = CONTRACT["servers"][0]["url"]


class RefusedError(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def closed(schema: Any) -> Any:
    """A schema that takes no field beside its own."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(value) for name, value in schema.items()}
    if "properties" in schema and isinstance(schema["properties"], dict):
        found.setdefault("additionalProperties", False)
    return found


COMPONENTS = closed(CONTRACT["components"])


def validate(schema: Any, told: Any) -> list[str]:
    whole = {**closed(schema), "components": COMPONENTS}
    return [error.message for error in Draft4Validator(whole).iter_errors(told)]


class Server:
    def __init__(self, token: str) -> None:
        self.token = token
        self.catalogs: dict[str, dict] = {}
        self.schemas: dict[str, dict] = {}
        self.tables: dict[str, dict] = {}
        self.grants: dict[str, dict[str, set[str]]] = {}
        self.refusals: list[dict] = []
        self.asked: list[list[str]] = []
        self.lock = threading.Lock()

    def answer(self, method: str, path: str, query: dict, body: Any, login: str) -> Any:
        self.asked.append([method, path])
        if self.token and login != f"Bearer {self.token}":
            raise RefusedError(401, "UNAUTHENTICATED", f"Invalid access token {login[7:]}")
        for refusal in self.refusals:
            if refusal["method"] == method and refusal["part"] in path and refusal["times"] > 0:
                refusal["times"] -= 1
                raise RefusedError(refusal["status"], refusal["code"], "as the test says")
        template, operation, names = self.operation(method, path)
        self.ensure_known(template, operation, query)
        if "requestBody" in operation:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            if wrong := validate(schema, body):
                raise RefusedError(400, "INVALID_ARGUMENT", f"not in the contract: {wrong}")
        told = self.act(method, template, names, query, body)
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        if wrong := validate(schema, told):
            raise RefusedError(500, "INTERNAL", f"the test server breaks the contract: {wrong}")
        return told

    def operation(self, method: str, path: str) -> tuple[str, dict, list[str]]:
        for template, item in CONTRACT["paths"].items():
            pattern = re.sub(r"\\{\w+\\}", "([^/]+)", re.escape(template))
            match = re.fullmatch(pattern, path)
            if match and method.lower() in item:
                return template, item[method.lower()], [unquote(one) for one in match.groups()]
        raise RefusedError(405, "UNIMPLEMENTED", f"the contract has no {method} {path}")

    def ensure_known(self, template: str, operation: dict, query: dict) -> None:
        known = operation.get("parameters", [])
        names = {one["name"] for one in known if one["in"] == "query"}
        needed = {one["name"] for one in known if one["in"] == "query" and one.get("required")}
        if not needed <= set(query) <= names:
            raise RefusedError(400, "INVALID_ARGUMENT", f"{template} takes {names}, not {query}")

    def act(self, method: str, template: str, names: list[str], query: dict, body: Any) -> Any:
        if template.startswith("/permissions"):
            return self.permissions(method, names[0], names[1], body)
        act = {
            ("GET", "/catalogs/{name}"): lambda: self.of(self.catalogs, names[0], "CATALOG"),
            ("POST", "/catalogs"): lambda: self.add(self.catalogs, body["name"], body, "CATALOG"),
            ("GET", "/schemas"): lambda: self.list_schemas(query),
            ("POST", "/schemas"): lambda: self.add_schema(body),
            ("GET", "/tables"): lambda: self.list_tables(query),
            ("POST", "/tables"): lambda: self.add_table(body),
            ("GET", "/tables/{full_name}"): lambda: self.of(self.tables, names[0], "TABLE"),
            ("DELETE", "/tables/{full_name}"): lambda: self.delete_table(names[0]),
        }
        return act[method, template]()

    def list_schemas(self, query: dict) -> dict:
        self.of(self.catalogs, query["catalog_name"], "CATALOG")
        return self.page(self.schemas, f"{query['catalog_name']}.", query, "schemas")

    def add_schema(self, body: dict) -> dict:
        self.of(self.catalogs, body["catalog_name"], "CATALOG")
        name = f"{body['catalog_name']}.{body['name']}"
        return self.add(self.schemas, name, {**body, "full_name": name}, "SCHEMA")

    def list_tables(self, query: dict) -> dict:
        schema = f"{query['catalog_name']}.{query['schema_name']}"
        self.of(self.schemas, schema, "SCHEMA")
        return self.page(self.tables, f"{schema}.", query, "tables")

    def delete_table(self, name: str) -> dict:
        self.of(self.tables, name, "TABLE")
        self.grants.pop(f"table {name}", None)
        del self.tables[name]
        return {}

    def of(self, what: dict[str, dict], name: str, kind: str) -> dict:
        if name not in what:
            raise RefusedError(404, f"{kind}_NOT_FOUND", f"{kind} not found: {name}")
        return what[name]

    def add(self, what: dict[str, dict], name: str, told: dict, kind: str) -> dict:
        if name in what:
            raise RefusedError(400, f"{kind}_ALREADY_EXISTS", f"{kind} already exists: {name}")
        what[name] = told
        return told

    def add_table(self, body: dict) -> dict:
        schema = f"{body['catalog_name']}.{body['schema_name']}"
        self.of(self.schemas, schema, "SCHEMA")
        names = [body["name"], body["catalog_name"], body["schema_name"]]
        if not all(re.fullmatch(r"[a-zA-Z0-9_@-]+", name) for name in names):
            raise RefusedError(400, "INVALID_ARGUMENT", "Name cannot contain a period, space")
        if any(len(value) > 255 for value in body.get("properties", {}).values()):
            raise RefusedError(500, "INTERNAL", "Value too long for column property_value")
        place = body["storage_location"].rstrip("/") + "/"
        for other in self.tables.values():
            theirs = other["storage_location"].rstrip("/") + "/"
            if place.startswith(theirs) or theirs.startswith(place):
                raise RefusedError(400, "INVALID_ARGUMENT", f"overlaps with {other['name']}")
        told = {**body, "owner": "admin", "table_id": str(len(self.asked))}
        return self.add(self.tables, f"{schema}.{body['name']}", told, "TABLE")

    def page(self, what: dict[str, dict], prefix: str, query: dict, name: str) -> dict:
        found = sorted(key for key in what if key.startswith(prefix))
        begin = int(query.get("page_token", 0))
        told: dict[str, Any] = {name: [what[key] for key in found[begin : begin + PAGE]]}
        if begin + PAGE < len(found):
            told["next_page_token"] = str(begin + PAGE)
        return told

    def permissions(self, method: str, kind: str, name: str, body: Any) -> dict:
        things = {"catalog": self.catalogs, "schema": self.schemas, "table": self.tables}
        self.of(things[kind], name, kind.upper())
        granted = self.grants.setdefault(f"{kind} {name}", {})
        for change in body["changes"] if method == "PATCH" else ():
            has = granted.setdefault(change["principal"], set())
            has |= set(change["add"])
            has -= set(change["remove"])
        return {
            "privilege_assignments": [
                {"principal": principal, "privileges": sorted(has)}
                for principal, has in sorted(granted.items())
                if has
            ]
        }

    def control(self, what: str, told: Any) -> Any:
        match what:
            case "refuse":
                self.refusals.append(told)
            case "forgive":
                self.refusals.clear()
            case "asked":
                asked, self.asked = self.asked, []
                return asked
        return {}


def handler_of(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 2**16  # in one packet: the second would wait for the client to confirm the first

        def respond(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            content = self.rfile.read(length)
            body = json.loads(content) if content else None
            parts = urlsplit(self.path)
            status: int = 200
            with server.lock:
                if parts.path.startswith("/_test/"):
                    told = server.control(parts.path.removeprefix("/_test/"), body)
                elif not parts.path.startswith(BASE):
                    status, told = 404, "<html>a web page</html>"
                else:
                    path = parts.path.removeprefix(BASE)
                    login = self.headers.get("Authorization", "")
                    query = dict(parse_qsl(parts.query))
                    try:
                        told = server.answer(self.command, path, query, body, login)
                        told = "200 OK" if self.command == "DELETE" else told
                    except RefusedError as problem:
                        status = problem.status
                        told = {"error_code": problem.code, "message": str(problem)}
            answer = told.encode() if isinstance(told, str) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PATCH = do_DELETE = respond  # noqa: N815 - as the base has them

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


if __name__ == "__main__":
    told = sys.argv[1] if len(sys.argv) > 1 else ""
    listening = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(Server(told)))
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    print(listening.server_port, flush=True)  # noqa: T201 - whoever started it waits for that
    sys.stdin.read()
    listening.shutdown()
