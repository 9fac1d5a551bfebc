import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from confluent_kafka.schema_registry.common._httpx_compat import httpx

from lake_assets.formats.confluent.answer_size import bound_answers
from lake_assets.formats.confluent.answers import UnexpectedAnswerError


def test_an_answer_that_is_packed_all_the_same_is_not_unpacked():
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers["Accept-Encoding"])
            content = gzip.compress(b" " * 10_000_000)
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    asked: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web, httpx.Client() as client:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        bound_answers(client)
        with pytest.raises(UnexpectedAnswerError, match=r"is packed \(gzip\)"):
            client.get(f"http://127.0.0.1:{web.server_port}/")
        web.shutdown()
    assert asked == ["identity"]
