"""A site for tests: a redis-server, one or more gateways, and on request one address in front of them: a `Relay`, or a
balancer that the test starts (`front`). Everything is started and ended here by process id. Tests break what they want
broken.

Pages are served over plain HTTP on 127.0.0.1. Browsers treat loopback as a secure context, so geolocation and service
workers work, while a service worker would reject a self-signed certificate. One test uses TLS (`is_secure=True`)."""

import contextlib
import http.client
import os
import random
import re
import secrets
import shutil
import socket
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import bounds
from prefix import PrefixRelay
from processes import Process
from relay import Relay

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / ".build-browser"
PAGES = ROOT / "Sources/WebAssets/web"

# Below the range from which the kernel takes the ports of clients, which begins at 32,768 on Linux.
SERVER_PORTS = range(10_240, 32_000)
PORT_ATTEMPTS = 1_000

# All requests come from one address and few people, so quotas are raised except where a test is about them.
UNBOUNDED = {
    "REQUESTS_PER_PERSON_PER_SECOND": 10_000, "REQUESTS_PER_PERSON_BURST": 10_000,
    "REFUSED_TOKENS_PER_ADDRESS_PER_SECOND": 10_000, "REFUSED_TOKENS_PER_ADDRESS_BURST": 10_000,
    "CONNECTIONS_PER_ADDRESS": 0, "SESSIONS_PER_ADDRESS": 0, "SESSIONS_PER_PERSON": 0,
    "MESSAGES_PER_ADDRESS_PER_SECOND": 10_000, "MESSAGES_PER_ADDRESS_BURST": 10_000,
    "AVAILABILITY_CHANGES_PER_MINUTE": 10_000,
}


def enroute() -> Path:
    """Returns the gateway under test: ENROUTE_BINARY, or the result of `swift build`."""
    named = os.environ.get("ENROUTE_BINARY")
    path = Path(named) if named else ROOT / ".build/debug/enroute"
    if not path.exists():
        raise FileNotFoundError(f"There is no gateway at {path}: `swift build`, or set ENROUTE_BINARY.")
    return path


class Site:
    """A running site."""

    def __init__(
        self, folder: Path, is_secure: bool = False, has_relay: bool = False, gateways: int = 1, prefix: str = "",
        **settings,
    ):
        """`settings` are environment variables of the gateways without `ENROUTE_`. None removes one that is set here: with
        PAGES_DIR=None the pages are the embedded ones. `prefix`: a path such as `/enroute` below which a relay serves them."""
        self.folder, self.is_secure, self.settings = folder, is_secure, settings
        folder.mkdir(parents=True, exist_ok=True)
        self.secret = secrets.token_hex(32)
        self.gateways: list[Gateway] = []
        self.redis: Process | None = None
        self.relay: Relay | None = None
        self.front: int | None = None
        """The port of a balancer, once the test has started one: clients connect there."""
        self.prefix = prefix
        """The path below which the relay or the balancer serves the gateways; empty without one."""
        self.terminates_tls = False
        """Whether that balancer terminates TLS: clients use TLS and the gateways do not."""
        self.launcher: list[str] = []
        """Arguments before the gateway's own, for gateways that are started from now on: `["prlimit", "--nofile=512"]`."""
        try:
            self.start_redis()
            for _ in range(gateways):
                self.start_gateway()
        except Exception:
            self.close()
            raise
        ports = [gateway.port for gateway in self.gateways]
        if prefix:
            self.relay = PrefixRelay(ports, prefix)
        elif has_relay:
            self.relay = Relay(ports)

    @property
    def url(self) -> str:
        """The address for clients: the balancer's or the relay's, if there is one, with its prefix."""
        port = self.front or (self.relay.port if self.relay else self.gateways[0].port)
        is_https = self.is_secure or (self.front is not None and self.terminates_tls)
        return f"{'https' if is_https else 'http'}://127.0.0.1:{port}{self.prefix}"

    @property
    def port(self) -> int:
        return urlsplit(self.url).port

    # Actions

    def start_redis(self) -> None:
        """Starts Redis, also after `redis.kill()`: at the same place, and empty."""
        self.redis = Process(
            "redis-server",
            ["redis-server", "--port", "0", "--unixsocket", str(self._socket), "--save", "", "--appendonly", "no",
             "--dir", str(self.folder)], self.folder / "redis.log")
        self.redis.wait_until(lambda: self.redis_says("PING") == "PONG", "its answer to PING")

    def redis_says(self, *command: str) -> str:
        """Returns the output of `redis-cli`."""
        done = subprocess.run(
            ["redis-cli", "-s", str(self._socket), *command], capture_output=True, text=True,
            timeout=bounds.ANSWER_SECONDS)
        return done.stdout.strip()

    def start_gateway(self) -> "Gateway":
        """Starts one more gateway on the same Redis. The relay uses it when the earlier ones accept no connection."""
        gateway = Gateway(self, f"gateway-{len(self.gateways) + 1}")
        self.gateways.append(gateway)
        if self.relay:
            self.relay.targets.append(gateway.port)
        return gateway

    def close(self) -> None:
        if self.relay:
            self.relay.close()
        for gateway in self.gateways:
            gateway.process.kill()
            gateway.process.end()
        if self.redis:
            self.redis.end()

    # Settings of the gateways

    @property
    def _socket(self) -> Path:
        return self.folder / "redis.sock"

    def environment(self) -> dict[str, str]:
        ours = {
            "MODE": "development", "REDIS_LIVE_URL": f"unix:{self._socket}", "LISTEN_HOST": "127.0.0.1",
            "MANAGEMENT": "off",
            "TOKEN_SECRET": self.secret, "PAGES_DIR": str(PAGES), "LOG_LEVEL": "notice", "DRAIN_SECONDS": "1",
            "DRAIN_ACCEPT_SECONDS": "0",
            # A machine that pauses does not make the gateway refuse connections.
            "OVERLOAD_LOOP_LAG_MS": "60000",
            "TLS": "on" if self.is_secure else "off",
        }
        if self.is_secure:
            ours |= {"TLS_CERTIFICATE_FILE": str(self.certificate()), "TLS_KEY_FILE": str(self.folder / "key.pem")}
        ours |= {f"LIMIT_{name}": str(value) for name, value in UNBOUNDED.items()}
        ours |= self.settings
        theirs = {name: value for name, value in os.environ.items() if not name.startswith("ENROUTE_")}
        return theirs | {f"ENROUTE_{name}": str(value) for name, value in ours.items() if value is not None}

    def certificate(self) -> Path:
        """A self-signed certificate; its key is `key.pem` beside it. Browsers are told to accept it (`ignore_https_errors`)."""
        path = self.folder / "certificate.pem"
        if not path.exists():
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                 "-keyout", str(self.folder / "key.pem"), "-out", str(path)], check=True, capture_output=True)
        return path


class Gateway:
    """One `enroute serve`. Its `process` can be killed, frozen and thawed."""

    LISTENING = re.compile(r"listening on \S+ port (\d+)(?:.*probes and metrics on port (\d+))?")

    def __init__(self, site: Site, name: str):
        self._site, self._name = site, name
        self.port, management = free_ports(2)
        has_management = site.environment().get("ENROUTE_MANAGEMENT") == "on"
        self.management = management if has_management else 0
        """The port of `/readyz`, `/healthz` and `/metrics`; 0 unless the site sets MANAGEMENT="on"."""
        self.start()

    def start(self) -> None:
        """Starts the gateway, also after `process.kill()`: on the same ports."""
        log = self._site.folder / f"{self._name}.log"
        read = log.stat().st_size if log.exists() else 0
        self.process = Process(
            self._name, [*self._site.launcher, str(enroute()), "serve", "--port", str(self.port)], log,
            self._site.environment() | {
                "ENROUTE_GATEWAY_NAME": self._name, "ENROUTE_MANAGEMENT_PORT": str(self.management)})
        found = self.process.wait_until(
            lambda: self.LISTENING.search(log.read_text(errors="replace")[read:]), "its port")
        self.port, self.management = int(found.group(1)), int(found.group(2) or 0)

    @property
    def log(self) -> str:
        """Everything that it has logged, in all its lives."""
        return (self._site.folder / f"{self._name}.log").read_text(errors="replace")

    def metric(self, name: str) -> float:
        """The sum of a metric's values over all its labels."""
        lines = [line for line in self.manage("/metrics")[1].splitlines() if re.match(rf"{name}[{{ ]", line)]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    def manage(self, path: str) -> tuple[int, str]:
        """Requests `/readyz`, `/metrics` and so on. Returns the HTTP status and the body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.management, timeout=bounds.ANSWER_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


def free_ports(count: int) -> list[int]:
    """Ports that nothing listens on now, for servers that may stop and start again. Meanwhile the kernel gives none of them to
    a client, because its range begins above them."""
    found: set[int] = set()
    for _ in range(PORT_ATTEMPTS):
        port = random.choice(SERVER_PORTS)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.add(port)
        if len(found) == count:
            return list(found)
    raise RuntimeError(f"{PORT_ATTEMPTS} attempts found {len(found)} free ports in {SERVER_PORTS}, not {count}")


def forget(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
