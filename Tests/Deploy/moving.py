"""Clients that are moved between gateways: followers and riders that reconnect as enroute.js does, in one asyncio loop beside the
test. Each stores what a rolling restart must not break: connections, times of locations, statuses, unanswered reports."""

import asyncio
import itertools
import json
import random
import ssl
import threading
import time
from dataclasses import dataclass, field

import websockets.asyncio.client
from websockets.exceptions import WebSocketException

import bounds
from order_system import HOME, Job, OrderSystem
from riders import now_ms
from trips import METERS_PER_DEGREE

# Sources/WebAssets/web/enroute-timing.js
FIRST_DELAY, LONGEST_DELAY, SPREAD, STABLE_AFTER, GIVE_UP_AFTER = 3.0, 30.0, 0.3, 10.0, 40.0
FIXES_PER_REPORT = 5
UNVERIFIED = ssl._create_unverified_context()


@dataclass
class Client:
    """One connection after the other, until `stop`."""

    orders: OrderSystem
    role: str
    person: str
    connections: int = 0
    failures: int = 0
    """Attempts that were refused, or connections that ended without a `goaway`."""
    closes: list[int | None] = field(default_factory=list)
    is_stopped: bool = False
    socket: websockets.asyncio.client.ClientConnection | None = None

    async def run(self) -> None:
        attempts = 0
        while not self.is_stopped:
            not_before, opened = None, None
            try:
                async with self._connect() as self.socket:
                    await self.say({"type": "auth", "token": self.orders.token(self.role, self.person)})
                    async for text in self.socket:
                        message = json.loads(text)
                        if message["type"] == "welcome":
                            opened, self.connections = time.monotonic(), self.connections + 1
                            await self.signed_in()
                        elif message["type"] == "goaway":
                            not_before = time.monotonic() + message["retryInMs"] / 1000
                        else:
                            await self.received(message)
            except (OSError, WebSocketException, TimeoutError):
                pass
            if self.is_stopped:
                return
            self.closes.append(self.socket.close_code if opened else None)
            self.socket = None
            now = time.monotonic()
            if opened is not None and now - opened >= STABLE_AFTER:
                attempts = 0
            if not_before is None:
                self.failures += 1
                delay = random.random() * (FIRST_DELAY if attempts == 0 else min(LONGEST_DELAY, 2.0 ** attempts))
            else:
                delay = max(0.0, not_before - now) + random.random() * SPREAD
            attempts += 1
            await asyncio.sleep(delay)

    def _connect(self):
        url = self.orders.site.url.replace("http", "ws", 1) + "/v1"
        return websockets.asyncio.client.connect(
            url, subprotocols=["enroute.v1"], ssl=UNVERIFIED if url.startswith("wss") else None, compression=None,
            ping_interval=None, open_timeout=bounds.CONNECT_SECONDS, close_timeout=bounds.CONNECT_SECONDS)

    async def say(self, message: dict) -> None:
        if self.socket:
            await self.socket.send(json.dumps(message))

    async def signed_in(self) -> None: ...

    async def received(self, message: dict) -> None: ...

    async def stop(self) -> None:
        self.is_stopped = True
        if self.socket:
            await self.socket.close()


@dataclass
class MovingFollower(Client):
    """A customer who follows a job with a rider, and a job whose status changes."""

    travelled: Job | None = None
    changing: Job | None = None
    located: list[float] = field(default_factory=list)
    """When each location arrived; the newest position of a snapshot counts as one."""
    newest: int = 0
    statuses: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    since: dict[str, dict] = field(default_factory=dict)
    resets: int = 0

    async def signed_in(self) -> None:
        await self.say({"type": "subscribe", "jobs": [
            {"job": job.name} | ({"since": self.since[job.name]} if job.name in self.since else {})
            for job in (self.travelled, self.changing)]})

    async def received(self, message: dict) -> None:
        match message:
            case {"type": "subscribed" | "reset", "job": job, "snapshot": snapshot}:
                self.resets += message["type"] == "reset"
                if snapshot["position"]:
                    self._locate(snapshot["position"])
                for event in snapshot["missed"]:
                    self._change(job, event)
                self.since[job] = {"epoch": snapshot["epoch"], "id": snapshot["id"]}
            case {"type": "location"}:
                self._locate(message)
            case {"type": "status", "job": job}:
                self.since[job] = {"epoch": message["epoch"], "id": message["id"]}
                self._change(job, message)

    def _locate(self, position: dict) -> None:
        if int(position["id"]) > self.newest:
            self.newest = int(position["id"])
            self.located.append(time.monotonic())

    def _change(self, job: str, event: dict) -> None:
        if job == self.changing.name:
            self.statuses.append(event["status"])
            self.ids.append(event["id"])

    @property
    def longest_gap(self) -> float:
        """The longest time in s between two locations."""
        return max((after - before for before, after in itertools.pairwise(self.located)), default=0.0)


@dataclass
class MovingRider(Client):
    """A rider who reports once a second, and reports again what was not answered when the connection ended."""

    job: Job | None = None
    seq: int = 0
    unanswered: dict[int, list[dict]] = field(default_factory=dict)
    """The fixes of each report without an answer."""
    waiting: list[dict] = field(default_factory=list)
    answered: set[int] = field(default_factory=set)
    """When each fix was taken whose report was answered, ms."""
    taken: set[int] = field(default_factory=set)
    is_travelling: bool = False
    is_halted: bool = False

    async def drive(self) -> None:
        begun = time.monotonic()
        for turn in itertools.count():
            await asyncio.sleep(max(0.0, begun + turn - time.monotonic()))
            if self.is_halted:
                return
            lat = HOME[0] - 0.2 + turn * 10 / METERS_PER_DEGREE
            fix = {"at": now_ms(), "lat": round(lat, 6), "lon": HOME[1], "acc": 5, "spd": 10, "hdg": 0}
            self.taken.add(fix["at"])
            self.waiting.append(fix)
            await self.report()

    async def report(self) -> None:
        if not self.is_travelling:
            return
        while self.waiting:
            fixes, self.waiting = self.waiting[-FIXES_PER_REPORT:], self.waiting[:-FIXES_PER_REPORT]
            self.seq += 1
            self.unanswered[self.seq] = fixes
            try:
                await self.say({"type": "location", "job": self.job.name, "seq": self.seq, "fixes": fixes[::-1]})
            except WebSocketException:
                return                                   # `run` notices too, and `signed_in` reports again

    async def signed_in(self) -> None:
        self.is_travelling = False
        await self.say({"type": "travel", "job": self.job.name, "active": True})

    async def received(self, message: dict) -> None:
        match message:
            case {"type": "ok", "replyTo": "travel"}:
                again = [fix for fixes in self.unanswered.values() for fix in fixes]
                self.unanswered.clear()
                self.waiting = sorted(again + self.waiting, key=lambda fix: fix["at"])
                self.is_travelling = True
                await self.report()
            case {"replyTo": "location", "seq": seq}:
                for answered in [one for one in self.unanswered if one <= seq]:
                    self.answered |= {fix["at"] for fix in self.unanswered.pop(answered)}


class Crowd:
    """Runs clients in a thread of its own."""

    BEAT_SECONDS = 0.05

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.longest_stall = 0.0
        """The longest time in seconds for which this thread did not run, although it was due: the machine had no time."""
        threading.Thread(target=self.loop.run_forever, name="crowd", daemon=True).start()
        self.run(self._beat())

    async def _beat(self) -> None:
        due = self.loop.time()
        while True:
            due += self.BEAT_SECONDS
            await asyncio.sleep(due - self.loop.time())
            self.longest_stall = max(self.longest_stall, self.loop.time() - due)
            due = self.loop.time()

    def run(self, coroutine) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(bounds.ANSWER_SECONDS)

    def close(self, clients: list[Client]) -> None:
        async def stop() -> None:
            await asyncio.gather(*(client.stop() for client in clients), return_exceptions=True)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.wait(stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
