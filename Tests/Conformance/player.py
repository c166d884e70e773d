"""Plays one script: the fake gateway on one side, the client's program on the other."""

from __future__ import annotations

import base64
import json

from driver import START_SECONDS, Driver
from matching import filled, matches, shown
from model import Job
from moments import Broken, Clock
from sockets import Server
from steps import Steps

WELCOME = {"messageBytes": 4096, "messagesPerSecond": 20, "messagesBurst": 40, "subscriptions": 10, "watchedZones": 20,
           "positionsPerSecond": 2, "subscribeJobs": 100}
TRANSCRIPT_LINES = 60


class Skipped(Exception):
    """The client lacks the feature that the script tests."""


class Player:
    """The state that a script's steps act on. `steps.py` has one method for each kind of step."""

    def __init__(self, script: dict, command: str, speed: float, slack: float):
        self.script, self._command, self._wanted_speed, self._slack = script, command, speed, slack
        self._limits = WELCOME | script.get("limits", {})
        self.transcript: list[str] = []
        self.reports: list[dict] = []
        self.jobs: dict[str, Job] = {}
        self.tokens: dict[str, str] = {}
        self.credential: dict = {}
        self.overrides: list[dict] = []
        self.current = None  # The connection that the last `connects` found.
        self.mark = 0.0  # When the last connection ended.
        self.snapshots: dict[str, dict] = {}  # The answer to the first subscription of each job without `since`.
        self.remembered: dict = {}
        self.sent: dict[str, dict] = {}  # Epoch and id of the newest status that was sent for each job.

    async def play(self) -> None:
        """Raises Broken when the client does not do what the script expects, Skipped when it cannot."""
        self.clock = Clock(self._wanted_speed, self._slack)
        self.driver = Driver(self._command, self._reported)
        await self.driver.start()
        await self.clock.until(lambda: self._ready or self.driver.has_ended, START_SECONDS * self.clock.speed)
        if not self._ready:
            raise Broken("the program did not print a line with \"saw\": \"ready\"\n" + "\n".join(self.driver.noise))
        lacks = [ability for ability in self.script.get("needs", []) if ability not in self._ready["can"]]
        if lacks:
            await self.driver.stop()
            raise Skipped(", ".join(lacks))
        self.clock = Clock(min(self._wanted_speed, float(self._ready.get("speed", 1))), self._slack)
        self.server = Server(self.clock, self._answer, self._limits)
        await self.server.start()
        try:
            await self._play_steps()
        finally:
            code = await self.driver.stop()
            await self.server.stop()
        if code != 0:
            raise Broken("the program " + ("did not end after `stop`" if code is None else f"ended with the exit code {code}"))

    async def _play_steps(self) -> None:
        for name, kind in self.script.get("jobs", {"visit-1": "service"}).items():
            # {"stop-": 60} is short for stop-1 to stop-60.
            for job in [name] if isinstance(kind, str) else [f"{name}{number}" for number in range(1, kind + 1)]:
                self.jobs[job] = Job(job, self.server_now, kind if isinstance(kind, str) else "service")
        self.set_credential(self.script.get("credential", {"token": "first"}))
        url = f"ws://127.0.0.1:{self.server.port}/v1"
        self.driver.tell({"do": "start", "url": url, "speed": self.clock.speed,
                          "now": self.clock.now_ms() + self.script.get("clientClockHours", 0) * 3_600_000})
        self.note("kit", f"start {url}, {self.clock.speed:g} times as fast")
        steps = Steps(self)
        for number, step in enumerate(self.script["steps"], 1):
            ((verb, value),) = step.items()
            try:
                await getattr(steps, verb)(filled(value, self.names))
            except Broken as broken:
                raise Broken(f"step {number}, {shown(step)}: {broken}") from None
            self._check()
        self._check()
        if self.server.arrived:
            raise Broken("at the end: the client connected once more than the script expects")

    def _check(self) -> None:
        if self.server.violations:
            raise Broken("; ".join(sorted(set(self.server.violations))))
        if self.driver.has_ended:
            raise Broken("the program ended in the middle\n" + "\n".join(self.driver.noise))

    # The program's output.

    @property
    def _ready(self) -> dict | None:
        return next((report for report in self.reports if report["saw"] == "ready"), None)

    def _reported(self, report: dict) -> None:
        if report["saw"] == "credential":
            self.note("client", "asks for a credential")
            self.driver.tell({"do": "credential", "request": report.get("request")} | self.credential)
            return
        self.reports.append(report)
        self.note("client", "saw " + shown(report))

    def note(self, who: str, what: str) -> None:
        self.transcript = [*self.transcript, f"{self.clock.seconds():8.2f} s  {who:8}{what}"][-TRANSCRIPT_LINES:]

    # The gateway's state and its answers.

    def server_now(self) -> int:
        return self.clock.now_ms()

    @property
    def names(self) -> dict:
        newest = {f"{name}.{key}": job.log[-1][key] for name, job in self.jobs.items() for key in ("id", "epoch")}
        return self.tokens | newest | self.remembered | {"now": self.server_now}

    def set_credential(self, given: dict) -> None:
        """The credential that the application returns from now on: {"token": name, "lasts": seconds}, {"link": secret}
        or {"fails": text}."""
        if "token" in given:
            name = given["token"]
            if name not in self.tokens or "lasts" in given:
                self.tokens[name] = token(name, self.server_now() / 1000 + given.get("lasts", 36_000))
            given = {"token": self.tokens[name]}
        self.credential = given

    async def welcome(self, connection) -> None:
        await self.say(connection, {"type": "welcome", "session": "5f3c", "serverTime": self.server_now(),
                                    "pingIntervalSeconds": 25, "limits": self._limits})

    async def say(self, connection, message: dict) -> None:
        if connection.is_frozen or connection.has_ended:
            return
        self.note("gateway", shown(message))
        newest = message if message["type"] == "status" else message.get("snapshot")
        if newest:
            self.sent[message["job"]] = {"epoch": newest["epoch"], "id": newest["id"]}
        await connection.send(message)

    async def _answer(self, connection, message: dict) -> None:
        """Answers as a gateway does, unless the script has another answer."""
        self.note("client", "sends " + shown(message))
        if connection.is_frozen:
            return
        kind, job = message["type"], message.get("job")
        ref = {"ref": message["ref"]} if "ref" in message else {}
        for override in self.overrides:
            if matches(override["to"], message):
                self.overrides.remove(override)
                for answer in override["with"]:
                    await self.say(connection, answer | (ref if answer["type"] in ("ok", "error") else {}))
                return
        if kind == "ping":
            await self.say(connection, {"type": "pong", "serverTime": self.server_now()})
        elif kind == "subscribe":
            await self._subscribe(connection, message, ref)
        elif kind == "location":
            for one in message.get("jobs", [job]):
                await self.say(connection, {"type": "ok", "replyTo": kind, "job": one, "seq": message.get("seq"), **ref})
        else:
            if kind == "unsubscribe":
                connection.subscribed.discard(job)
            deadline = {"deadline": self.server_now() + 3_600_000} if kind in ("travel", "refresh") else {}
            await self.say(connection, {"type": "ok", "replyTo": kind, **({"job": job} if job else {}), **deadline, **ref})

    async def _subscribe(self, connection, message: dict, ref: dict) -> None:
        job = message["job"]
        if job not in self.jobs:
            await self.say(connection, {"type": "error", "replyTo": "subscribe", "job": job, "code": "not_found",
                                        "message": "This job does not exist.", "retry": False, **ref})
            return
        connection.subscribed.add(job)
        answer = self.jobs[job].answer(message.get("since"))
        if "since" not in message:
            self.snapshots.setdefault(job, answer["snapshot"])
        await self.say(connection, answer)


def token(name: str, expires: float) -> str:
    """A JWT with an expiry and without a real signature: the fake gateway compares tokens, it does not verify them."""
    def part(value: dict) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    claims = {"iss": "kit", "aud": "enroute", "sub": "anna", "role": "customer", "iat": int(expires) - 36_000,
              "exp": int(expires), "jti": name}
    return f"{part({'alg': 'ES256', 'typ': 'JWT'})}.{part(claims)}.c2lnbmF0dXJl"
