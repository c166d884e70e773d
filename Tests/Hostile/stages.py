"""The targets of the attacks: a gateway with its own live and ledger redis-server, people, jobs and links, and
measurements that are taken before an attack and compared afterwards."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import threading
import time
from pathlib import Path

import bounds
import stage as browser_stage
from held import HeldRedis
from issuer import Issuer
from processes import Process
from stage import Site
from target import JOBS, PEOPLE, ROLES, ZONE, Target

MANAGEMENT = re.compile(r"probes and metrics on port (\d+)")
# Limits the log of a flood; lines of level info and above are searched.
QUIET = {"LOG_LEVEL": "notice", "DRAIN_ACCEPT_SECONDS": 0}
# The limits per peer are lifted, so that the code behind them is tested.
OPEN = {
    "LIMIT_MALFORMED_MESSAGES": 1000,
    "LIMIT_MESSAGES_PER_SECOND": 100_000,
    "LIMIT_MESSAGES_BURST": 100_000,
    "LIMIT_MESSAGES_PER_PERSON_PER_SECOND": 1_000_000,
    "LIMIT_MESSAGES_PER_PERSON_BURST": 1_000_000,
    "LIMIT_MESSAGES_PER_ADDRESS_PER_SECOND": 1_000_000,
    "LIMIT_MESSAGES_PER_ADDRESS_BURST": 1_000_000,
    "LIMIT_REQUESTS_PER_PERSON_PER_SECOND": 100_000,
    "LIMIT_REQUESTS_PER_PERSON_BURST": 100_000,
    "LIMIT_REFUSED_TOKENS_PER_ADDRESS_PER_SECOND": 100_000,
    "LIMIT_REFUSED_TOKENS_PER_ADDRESS_BURST": 100_000,
    "LIMIT_ANONYMOUS_REQUESTS_PER_ADDRESS_PER_SECOND": 100_000,
    "LIMIT_ANONYMOUS_REQUESTS_PER_ADDRESS_BURST": 100_000,
    "LIMIT_TILES_PER_ADDRESS_PER_SECOND": 100_000,
    "LIMIT_TILES_PER_ADDRESS_BURST": 100_000,
    "LIMIT_AVAILABILITY_CHANGES_PER_MINUTE": 100_000,
    "LIMIT_POSITIONS_PER_SECOND": 1000,
    "LIMIT_POSITIONS_BURST": 1000,
    "LIMIT_SIGN_IN_SECONDS": 2,
    "LIMIT_NEW_CONNECTIONS_PER_SECOND": 0,
    "LIMIT_SESSIONS_PER_PERSON": 0,
    "LIMIT_SESSIONS_PER_ADDRESS": 0,
    "LIMIT_CONNECTIONS_PER_ADDRESS": 0,
}
# The limits of a deployment, except those per address: all drivers come from one.
USUAL = {f"LIMIT_{name}": None for name in browser_stage.UNBOUNDED} | {
    "LIMIT_SESSIONS_PER_ADDRESS": 0,
    "LIMIT_CONNECTIONS_PER_ADDRESS": 0,
    "LIMIT_NEW_CONNECTIONS_PER_SECOND": 0,
}


class Stage(Site):
    """A gateway to attack."""

    def __init__(self, folder: Path, name: str, is_secure: bool, **settings):
        self.name = name
        self.ledger: Process | None = None
        super().__init__(
            folder, is_secure, **({"MANAGEMENT": "on", "MANAGEMENT_PORT": 0, "PAGES_DIR": None} | QUIET | settings)
        )
        self.gateway = self.gateways[0]
        log = self.folder / "gateway-1.log"
        found = MANAGEMENT.search(log.read_text(errors="replace"))
        self.target = Target(
            name,
            self.gateway.port,
            int(found.group(1)),
            is_secure,
            self.secret,
            self.gateway.process.child.pid,
            str(log),
            str(self._socket),
        )

    def start_redis(self) -> None:
        super().start_redis()
        socket = self.folder / "ledger.sock"
        self.ledger = Process(
            "redis-server",
            [
                "redis-server",
                "--port",
                "0",
                "--unixsocket",
                str(socket),
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                str(self.folder),
            ],
            self.folder / "ledger.log",
        )
        self.ledger.wait_until(lambda: socket.exists(), "its socket")
        self.settings = {"REDIS_LEDGER_URL": f"unix:{socket}"} | self.settings

    def close(self) -> None:
        super().close()
        if self.ledger:
            self.ledger.end()

    def stop_cleanly(self) -> str | None:
        """Sends SIGTERM; returns the problems with the gateway's end."""
        child = self.gateway.process.child
        if not self.gateway.process.is_running:
            return f"it had ended before, with {child.returncode}"
        child.terminate()
        try:
            code = child.wait(bounds.END_SECONDS)
        except Exception:
            return f"it had not ended {bounds.END_SECONDS} s after SIGTERM"
        return None if code == 0 else f"it ended with {code} after SIGTERM"

    # People, jobs and links

    def ask(self, method: str, path: str, role: str, body: dict | None = None, person: str | None = None) -> dict:
        """Sends a valid request; raises RuntimeError when it is refused."""
        context = ssl._create_unverified_context()
        connection = (
            http.client.HTTPSConnection("127.0.0.1", self.target.port, timeout=bounds.ANSWER_SECONDS, context=context)
            if self.is_secure
            else http.client.HTTPConnection("127.0.0.1", self.target.port, timeout=bounds.ANSWER_SECONDS)
        )
        try:
            connection.request(
                method,
                f"/api/v1/{path}",
                json.dumps(body) if body is not None else None,
                {"Authorization": f"Bearer {self.target.token(role, person)}", "Content-Type": "application/json"},
            )
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path} was answered {answer.status}: {text[:300]!r}")
        return json.loads(text) if text else {}

    def populate(self) -> None:
        for index in range(PEOPLE):
            self.ask("PUT", f"riders/rider-{index}", "service", {"zone": ZONE, "approved": True, "capacity": 100})
            self.ask("PATCH", "riders/me/status", "rider", {"status": "online"}, f"rider-{index}")
        links = []
        for index in range(JOBS):
            self.make_job(f"visit-{index}", index)
            if index < PEOPLE:
                links.append(self.ask("POST", f"jobs/visit-{index}/links", "service", {"viewers": 100})["link"])
        self.target = Target(**(self.target.__dict__ | {"links": tuple(links)}))

    def make_job(self, job: str, index: int) -> None:
        kind = "service" if index % 2 else "delivery"
        self.ask(
            "PUT",
            f"jobs/{job}",
            "service",
            {
                "kind": kind,
                "customer": f"customer-{index % PEOPLE}",
                "rider": f"rider-{index % PEOPLE}",
                "zone": ZONE,
                "destination": {"lat": 41.9, "lon": 12.5},
            },
        )
        if index % 4 == 1:
            self.ask("POST", f"jobs/{job}/status", "service", {"status": "on_the_way"})
            self.ask("PUT", f"jobs/{job}/travel", "rider", {}, f"rider-{index % PEOPLE}")


class HeldStage(Stage):
    """A stage whose Redis and issuer of keys answer late when a driver requests it."""

    def start_redis(self) -> None:
        super().start_redis()
        self._held = [HeldRedis(str(self._socket)), HeldRedis(str(self.folder / "ledger.sock"))]
        live, ledger = (f"redis://127.0.0.1:{one.port}" for one in self._held)
        self._issuer = Issuer(self.folder)
        self.settings |= {"REDIS_LIVE_URL": live, "REDIS_LEDGER_URL": ledger, "TOKEN_JWKS_URL": self._issuer.url}

    def close(self) -> None:
        super().close()
        self._issuer.close()
        for one in self._held:
            one.close()


class Watch:
    """Measures a target ten times a second while drivers attack it, and then reports what was not released."""

    EVERY_SECONDS = 0.1

    def __init__(self, target: Target):
        self.target = target
        self.before = self._now()
        self.peak_megabytes = self.before["megabytes"]
        self.peak_descriptors = self.before["descriptors"]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._measure, daemon=True)
        self._thread.start()

    def _now(self) -> dict[str, float]:
        metrics = self.target.metrics()
        return {
            "megabytes": self.target.resident_megabytes,
            "descriptors": self.target.descriptors,
            "sessions": sum(value for name, value in metrics.items() if name.startswith("enroute_sessions_open{")),
            "connections": metrics["enroute_connections_open"],
        }

    def _measure(self) -> None:
        while not self._over.wait(self.EVERY_SECONDS):
            self.peak_megabytes = max(self.peak_megabytes, self.target.resident_megabytes)
            self.peak_descriptors = max(self.peak_descriptors, self.target.descriptors)

    def end(self, grown_megabytes: float, patience: float, slack: int = 0) -> list[str]:
        """Returns what is wrong: memory that grew by more than `grown_megabytes`, and sockets, descriptors and
        sessions that are not released within `patience` s."""
        wrongs = []
        end = time.monotonic() + patience
        while True:
            if not self.target.is_alive:
                self._over.set()
                return ["the gateway has exited"]
            try:
                now = self._now()
            except OSError as error:
                now = None
                left = [f"the management listener does not answer: {error}"]
            if now:
                left = [
                    f"{name} are not released: {self.before[name]:.0f} before, {now[name]:.0f} after {patience:.0f} s"
                    for name in ("sessions", "connections", "descriptors")
                    if now[name] > self.before[name] + slack
                ]
            if not left or time.monotonic() > end:
                break
            time.sleep(bounds.POLL_SECONDS)
        self._over.set()
        self._thread.join()
        wrongs += left
        grown = self.peak_megabytes - self.before["megabytes"]
        if grown > grown_megabytes:
            wrongs.append(f"resident memory grew by {grown:.0f} MB, more than {grown_megabytes:.0f} MB")
        return wrongs


def people(role: str) -> list[str]:
    assert role in ROLES
    return [f"{role}-{index}" for index in range(PEOPLE)]
