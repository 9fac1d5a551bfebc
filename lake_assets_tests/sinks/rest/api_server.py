"""A real HTTP API in a process of its own, that keeps what it gets and fails as it is told.

Run by its path: `python api_server.py FILE [LATENCY_S [CERTIFICATE KEY]]`. It writes its port into
FILE. `POST /script` sets what the next calls get, one fault a call; `GET /calls` tells what came.
"""

import json
import socket
import ssl
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    calls: ClassVar[list] = []
    script: ClassVar[list] = []
    always: ClassVar[list] = []
    latency_s = 0.0
    under_way = 0
    most = 0
    lock = threading.Lock()

    def log_message(self, *_):
        pass

    def do_GET(self):
        with self.lock:
            told = {"calls": self.calls, "most": Api.most}
            self._answer(200, json.dumps(told).encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/script":
            with self.lock:
                told = json.loads(body)
                Api.script, Api.always = told.get("next", []), told.get("always", [])
            self._answer(200, b"{}")
            return
        with self.lock:
            Api.under_way += 1
            Api.most = max(Api.most, Api.under_way)
            fault = Api.script.pop(0) if Api.script else (Api.always[0] if Api.always else {})
            told = {"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}}
            Api.calls.append(
                {
                    **told,
                    "body": body.decode(),
                    "fault": fault,
                    "at": time.time(),
                    "client": self.client_address[1],
                }
            )
        try:
            self._reply(fault)
        finally:
            with self.lock:
                Api.under_way -= 1

    def _reply(self, fault):  # noqa: C901, PLR0915 - a case a fault
        if self.latency_s:
            time.sleep(self.latency_s)
        kind = fault.get("kind", "answer")
        if kind == "hang":
            time.sleep(fault["seconds"])
        elif kind == "drip":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            for _ in range(100):
                self.wfile.write(b".")
                self.wfile.flush()
                time.sleep(fault["seconds"])
        elif kind in {"half", "reset"}:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            self.wfile.flush()
            if kind == "reset":
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
            self.close_connection = True
        elif kind == "garbage":
            self.wfile.write(b"no HTTP at all\r\n\r\n")
            self.close_connection = True
        elif kind == "huge":
            self.send_response(fault.get("status", 200))
            self.send_header("Content-Length", str(1 << 40))
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                self.close_connection = True
        else:
            body = fault.get("body", "{}").encode()
            self._answer(fault.get("status", 200), body, fault.get("headers", {}))

    def _answer(self, status, body, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def handle_error(self, *_):
        pass


def main(file, latency_s="0", certificate=None, key=None):
    Api.latency_s = float(latency_s)
    server = Server(("127.0.0.1", 0), Api)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    place = Path(file)
    place.with_suffix(".new").write_text(str(server.server_port))
    place.with_suffix(".new").replace(place)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
