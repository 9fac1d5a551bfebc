"""The HTTP endpoint of the streams' process: `/metrics`, `/healthz`, `/readyz`.

Answers are made of what is known already. Whoever asks is noted, so that nothing is measured
while nobody does.
"""

import json
import logging
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import make_wsgi_app

from lake_assets.metrics.health import Health
from lake_assets.settings.watch import MetricsSettings

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

_LOG = logging.getLogger(__name__)

_TIMEOUT_S = 10.0
"""Seconds that a client may take over its request."""


_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - whoever sets it wants it
"""By what stands for all addresses of a machine, one that it can be asked by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """What the endpoint tells. All are called in threads of its own, and must be quick."""

    registry: CollectorRegistry
    live: Callable[[], Health]
    ready: Callable[[], Health]
    asked: Callable[[], None]
    """Called before metrics are told; may take up to a second or two where they are old."""


@contextmanager
def serving(settings: MetricsSettings, answers: Answers) -> Iterator[str | None]:
    """Serve until the end of the block; the address, or None if nothing is served.

    A port that cannot be had is told of in the log, and whoever runs in the block goes on.
    """
    server = _open(settings, _app(answers)) if settings.serve else None
    if server is None:
        yield None
        return
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        here = _EVERYWHERE.get(settings.host, settings.host)
        host = f"[{here}]" if ":" in here else here
        yield f"http://{host}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _open(settings: MetricsSettings, app: Any) -> "_Server | None":  # noqa: ANN401 - WSGI's
    try:
        kind = _Server6 if ":" in settings.host else _Server
        server = kind((settings.host, settings.port), _Handler)
    except OSError as problem:
        _LOG.warning(
            "no metrics are served: %s:%s cannot be listened on (%s). The streams go on; set "
            "another LAKE_ASSETS_METRICS_PORT, or free this one, and start them again",
            settings.host,
            settings.port,
            problem.strerror or problem,
        )
        return None
    server.set_app(app)
    return server


def _app(
    answers: Answers,
) -> "Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]":
    metrics = make_wsgi_app(answers.registry)
    health = {"/healthz": answers.live, "/readyz": answers.ready}

    def app(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/metrics":
            answers.asked()
            body: Iterable[bytes] = metrics(environ, start_response)
            return body
        if path in health:
            found = health[path]()
            status = HTTPStatus.OK if found.is_well else HTTPStatus.SERVICE_UNAVAILABLE
            answer: dict[str, object] = {"ok": found.is_well, "problems": dict(found.problems)}
        else:
            status, answer = HTTPStatus.NOT_FOUND, {"paths": ["/metrics", *health]}
        start_response(
            f"{status.value} {status.phrase}",
            [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
        )
        return [json.dumps(answer).encode() + b"\n"]

    return app


class _Server(ThreadingMixIn, WSGIServer):
    """A thread a request, so that a slow client keeps no other waiting."""

    daemon_threads = True
    block_on_close = False

    def server_bind(self) -> None:
        """Bind without asking DNS what this machine is called, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002 - the base's
        """Standard error is the streams' own: a client that went away is no news there."""
        _LOG.debug("a request of %s failed", client_address, exc_info=True)


class _Server6(_Server):
    """On an address of IPv6."""

    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    """Says nothing of each request."""

    timeout = _TIMEOUT_S

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - the base's
        """Nothing: a scrape every few seconds is no news."""
