"""A rider's phone: a real socket that travels and reports, beside the browser. It stores what it sent and when, so that
tests can measure the time from a fix to a marker."""

import threading
import time
from dataclasses import dataclass

from order_system import Job, OrderSystem
from trips import Spot, Trip
from websocket import WebSocket


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class Sent:
    """One fix that the phone sent."""

    seq: int
    spot: Spot
    at: int                 # ms since the epoch


@dataclass(frozen=True)
class Stay:
    """A trip that stays at one place."""

    spot: Spot

    def at(self, _: float) -> Spot:
        return self.spot


class Rider:
    """A signed-in rider with one or more jobs."""

    def __init__(self, orders: OrderSystem, *jobs: Job, person: str | None = None):
        self.orders, self.jobs = orders, jobs
        self.person = person or jobs[0].rider
        self.sent: list[Sent] = []
        self._seq = 0
        self._drive: threading.Thread | None = None
        self._halt = threading.Event()
        self._lock = threading.Lock()
        self.connect()

    def connect(self) -> None:
        self.socket = WebSocket(self.orders.site.url, self.orders.token("rider", self.person))
        self.socket.hear(type="welcome")

    def travel(self, active: bool = True) -> "Rider":
        """Switches travel mode of the rider's jobs and waits for the gateway's answer."""
        for job in self.jobs:
            heard = len(self.socket.heard)
            self.socket.say({"type": "travel", "job": job.name, "active": active})
            self.socket.hear(after=heard, type="ok", replyTo="travel", job=job.name)
        return self

    def stop_travel(self) -> "Rider":
        return self.travel(active=False)

    def report(
        self, spot: Spot, *, at: int | None = None, accuracy: float = 5.0, is_answered: bool = False, **members,
    ) -> Sent:
        """Reports a position; `at` (ms since the epoch) defaults to now.

        `is_answered`: waits for the gateway's answer, whatever it is."""
        with self._lock:
            self._seq += 1
            sent = Sent(self._seq, spot, at or now_ms())
            fix = {"at": sent.at, "lat": round(spot.lat, 6), "lon": round(spot.lon, 6), "acc": accuracy,
                   "spd": round(spot.speed, 1), "hdg": round(spot.heading, 1)} | members
            names = [job.name for job in self.jobs]
            where = {"job": names[0]} if len(names) == 1 else {"jobs": names}
            heard = len(self.socket.heard)
            self.socket.say({"type": "location", "seq": sent.seq, "fixes": [fix]} | where)
            self.sent.append(sent)
        if is_answered:
            self.socket.hear(after=heard, replyTo="location", seq=sent.seq)
        return sent

    def report_unavailable(self, reason: str) -> None:
        """Reports why there is no position: no_fix, permission_denied, services_disabled, hidden, low_battery …"""
        self.socket.say({"type": "unavailable", "reason": reason})

    def drive(self, trip: Trip, *, every: float = 1.0, from_second: float = 0.0) -> "Rider":
        """Reports along a trip in the background at an interval in s, until `halt`, `close` or the end of the test."""
        self.halt()
        self._halt = threading.Event()
        halt, begun = self._halt, time.monotonic()

        def run() -> None:
            turn = 0
            while not halt.wait(max(0.0, begun + turn * every - time.monotonic())):
                try:
                    self.report(trip.at(from_second + turn * every))
                except OSError:
                    return
                turn += 1

        self._drive = threading.Thread(target=run, name=f"drive-{self.person}", daemon=True)
        self._drive.start()
        return self

    def stay(self, spot: Spot) -> "Rider":
        """Reports one place each second, until `halt`. One report that is too far from the last is held back until later ones
        confirm it."""
        return self.drive(Stay(spot))

    def halt(self) -> None:
        """Stops reporting; the connection and travel mode stay."""
        self._halt.set()
        if self._drive:
            self._drive.join()
            self._drive = None

    def close(self) -> None:
        self.halt()
        self.socket.close()
