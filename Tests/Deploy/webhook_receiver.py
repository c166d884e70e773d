"""An HTTPS endpoint for webhooks. It verifies every signature with the library of the Standard Webhooks specification, and
records what it accepts. The path decides how it behaves: /good, /flaky, /slow, /broken, /failing, /redirect, /huge, /gone."""

import json
import random
import ssl
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

FLAKY_SHARE = 0.05
SLOW_SECONDS = 20.0           # longer than the 15 s that Enroute waits
HUGE_BYTES = 1 << 30


@dataclass(frozen=True)
class Event:
    id: str
    type: str
    subject: str
    epoch: str
    version: int
    body: str


class Receiver:
    """Runs until `close`. `secrets[path]` verifies the requests to a path."""

    def __init__(self, certificate: Path, key: Path):
        self.secrets: dict[str, list[str]] = defaultdict(list)
        self.accepted: dict[str, list[Event]] = defaultdict(list)
        self.attempts: dict[str, int] = defaultdict(int)
        self.signatures: dict[str, int] = defaultdict(int)
        """How many signatures the last request to a path had."""
        self.forged: list[str] = []
        self.behaviour: dict[str, str] = {}
        """Another behavior for a path than the one in its name."""
        self.huge_seconds: list[float] = []
        """How long the sender of each request to /huge received the response, until it closed the connection."""
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802
                receiver._receive(self)

            def do_GET(self):  # noqa: N802
                receiver._receive(self)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, client_address):
                """A gateway that was killed, or a response that nobody reads to its end."""

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, path: str) -> str:
        return f"https://127.0.0.1:{self.port}{path}"

    def events(self, path: str) -> list[Event]:
        with self._lock:
            return list(self.accepted[path])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _receive(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path
        length = int(request.headers.get("content-length", "0"))
        body = request.rfile.read(length)
        if len(body) < length:
            # The gateway was killed while it sent this.
            request.close_connection = True
            return
        body = body.decode()
        with self._lock:
            self.attempts[path] += 1
        behaviour = self.behaviour.get(path, path).lstrip("/").split("/")[0]
        if behaviour == "slow":
            time.sleep(SLOW_SECONDS)
        if behaviour == "broken":
            request.close_connection = True
            request.connection.close()
            return
        if behaviour == "redirect":
            return self._answer(request, 302, location=self.url("/internal"))
        if behaviour == "huge":
            return self._huge(request, path, body)
        if behaviour == "failing" or behaviour == "flaky" and random.random() < FLAKY_SHARE:
            return self._answer(request, 500)
        if behaviour == "gone":
            return self._answer(request, 410)
        self._answer(request, 204 if self._accept(path, body, request.headers) else 401)

    def _accept(self, path: str, body: str, headers) -> bool:
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        given = {name: headers.get(name, "") for name in names}
        for secret in self.secrets[path]:
            try:
                Webhook(secret).verify(body, given)
            except WebhookVerificationError as error:
                with self._lock:
                    self.forged.append(f"{path} {given}: {error}")
                return False
        event = json.loads(body)
        with self._lock:
            self.signatures[path] = len(given["webhook-signature"].split(" "))
            if event["id"] != given["webhook-id"] or event["specversion"] != "1.0":
                self.forged.append(f"{path}: {body}")
            if event["type"] != "enroute.webhook.test":
                self.accepted[path].append(Event(
                    event["id"], event["type"], event["subject"], event.get("epoch", ""),
                    int(event.get("version", "0")), body))
        return True

    def _answer(self, request: BaseHTTPRequestHandler, status: int, **headers: str) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        if status != 204:
            request.send_header("content-length", "0")
        request.end_headers()

    def _huge(self, request: BaseHTTPRequestHandler, path: str, body: str) -> None:
        accepted = self._accept(path, body, request.headers)
        request.send_response(200 if accepted else 401)
        request.send_header("content-length", str(HUGE_BYTES))
        request.end_headers()
        request.close_connection = True
        begun = time.monotonic()
        try:
            for _ in range(HUGE_BYTES >> 16):
                request.wfile.write(b"x" * (1 << 16))
        finally:
            with self._lock:
                self.huge_seconds.append(time.monotonic() - begun)
