"""The register of faults: each is a function that breaks a site of its own, waits until its alerts fire, removes the fault
and waits until they have cleared. test_alerts.py runs several of them at the same time."""

import contextlib
import http.client
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from monitoring import Monitoring
from order_system import OrderSystem, Refused
from processes import Process
from stage import Site
from websocket import WebSocket


class Deaf(WebSocket):
    """A client that does not read."""

    def _read(self) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)


@dataclass(frozen=True)
class Fault:
    """A function and the alerts that it provokes."""

    alerts: tuple[str, ...]
    provoke: Callable[["Stage"], None]

    @property
    def name(self) -> str:
        return self.provoke.__name__.replace("_", "-")


FAULTS: list[Fault] = []


def fault(*alerts: str):
    def register(provoke):
        FAULTS.append(Fault(alerts, provoke))
        return provoke

    return register


class Stage(contextlib.ExitStack):
    """The resources of one fault. Everything that it starts ends with it. Its site is scraped as the job `job`."""

    def __init__(self, monitoring: Monitoring, folder: Path, name: str):
        super().__init__()
        self.monitoring, self.folder, self.job = monitoring, folder, f"enroute-{name}"
        folder.mkdir(parents=True)

    def site(self, *, launcher: list[str] | None = None, gateways: int = 1, **settings) -> Site:
        """Starts a site and waits until Prometheus has scraped it."""
        # On a machine with other work, event loops lag; only faults make a gateway refuse connections.
        site = Site(self.folder / "site", gateways=0, **({"MANAGEMENT": "on", "OVERLOAD_LOOP_LAG_MS": 5_000} | settings))
        self.callback(site.close)
        site.launcher = launcher or []
        for _ in range(gateways):
            site.start_gateway()
        self.monitoring.watch(self.job, site)
        return site

    def redis(self, name: str) -> tuple[Process, str]:
        """Starts one more redis-server. Returns its process and its socket."""
        path = self.folder / f"{name}.sock"
        process = Process(name, ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--dir",
                                 str(self.folder)], self.folder / f"{name}.log")
        self.callback(process.end)
        process.wait_until(path.exists, "its socket")
        return process, str(path)

    def reserved_port(self) -> int:
        """Returns a port that refuses connections until a service listens there, and that nobody else receives."""
        holder = self.enter_context(socket.socket())
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        return holder.getsockname()[1]

    def service(self, answer: Callable[[BaseHTTPRequestHandler], tuple[int, str]], port: int = 0) -> ThreadingHTTPServer:
        """Starts somebody else's HTTP service, whose responses are status and JSON."""

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, text = answer(self)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_POST = do_GET

            def log_message(self, *_) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def end() -> None:
            server.shutdown()
            server.server_close()

        self.callback(end)
        return server

    def deaf(self, url: str, token: str) -> WebSocket:
        client = Deaf(url, token)
        self.callback(client.cut)
        return client

    def sockets(self, site: Site, count: int, first: bytes = b"") -> list[socket.socket]:
        """Opens connections that send nothing, or only these bytes."""
        opened = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", site.port), timeout=10)
            self.callback(connection.close)
            if first:
                with contextlib.suppress(OSError):
                    connection.sendall(first)
            opened.append(connection)
        return opened

    def fires(self, *names: str, while_: Callable[[], object] | None = None) -> None:
        self.monitoring.fires(self.job, *names, while_=while_)

    def clears(self, *names: str, while_: Callable[[], object] | None = None) -> None:
        self.monitoring.clears(self.job, *names, while_=while_)

    def notifies_only(self, *names: str, while_: Callable[[], object] | None = None) -> None:
        """Waits until Alertmanager notifies somebody of exactly these alerts of the site."""
        self.monitoring.until(
            lambda: self.monitoring.notified(self.job) == set(names), f"notifications of {names}", while_=while_,
            state=lambda: f"notified: {self.monitoring.notified(self.job)}")
        print(f"Alertmanager notifies of {sorted(names)}; firing are {sorted(self.monitoring.firing(self.job))}")


def tries(orders: OrderSystem, method: str, path: str, body: dict | None = None) -> Callable[[], None]:
    """Returns a function that sends a REST request and ignores a refusal."""

    def send() -> None:
        with contextlib.suppress(Refused, OSError, http.client.HTTPException):
            orders.ask(method, path, body)

    return send
