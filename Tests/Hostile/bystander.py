"""A well-behaved client during the attack: a rider that reports its position, a customer that follows it, and a service that reads
the job. Their results are compared with the expected ones; delays are reported and only loosely limited."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import time

from findings import Tally
from target import Target
from wire_http import Connection, Ended, OutOfStep, unverified
from wire_socket import CLOSE, PING, PONG, TEXT, Broken, Socket, frame

JOB, RIDER, CUSTOMER = "good-visit", "good-rider", "good-customer"
EVERY_SECONDS = 0.5
# A longer time without a position or an answer is a finding; busy machines need some of it.
PATIENCE_SECONDS = 15


def prepare(stage) -> None:
    stage.ask(
        "PUT",
        f"jobs/{JOB}",
        "service",
        {"kind": "service", "customer": CUSTOMER, "rider": RIDER, "destination": {"lat": 41.9, "lon": 12.5}},
        "good-service",
    )
    stage.ask("POST", f"jobs/{JOB}/status", "service", {"status": "on_the_way"}, "good-service")


class Bystander:
    """Runs in its own process until `end`."""

    def __init__(self, target: Target):
        context = multiprocessing.get_context("fork")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(target, theirs), daemon=True)
        self._process.start()

    def end(self) -> Tally:
        try:
            self._ours.send("end")
            if self._ours.poll(PATIENCE_SECONDS * 2):
                tally = self._ours.recv()
            else:
                tally = Tally("bystander")
                tally.found("the bystander hangs", "it did not stop when requested", "-")
        except (OSError, EOFError) as error:
            tally = Tally("bystander")
            tally.found("the bystander has crashed", repr(error), "-")
        self._process.join(PATIENCE_SECONDS)
        if self._process.is_alive():
            self._process.kill()
        return tally


def _run(target: Target, pipe) -> None:
    tally = asyncio.run(_Good(target, pipe).run())
    pipe.send(tally)


class _Good:
    def __init__(self, target: Target, pipe):
        self.target, self.pipe = target, pipe
        self.tally = Tally("bystander")
        self.context = unverified() if target.is_secure else None
        self.is_over = False
        self.heard: asyncio.Queue[int] = asyncio.Queue()

    async def run(self) -> Tally:
        tasks = [asyncio.create_task(self._guarded(part)) for part in (self._ride, self._follow, self._read)]
        while not self.pipe.poll():
            await asyncio.sleep(0.1)
        self.is_over = True
        await asyncio.wait(tasks, timeout=PATIENCE_SECONDS)
        return self.tally

    async def _guarded(self, part) -> None:
        try:
            await part()
        except (Broken, OutOfStep, Ended, OSError, TimeoutError, asyncio.TimeoutError) as error:
            if not self.is_over:
                self.tally.found(f"the bystander is disturbed ({part.__name__[1:]})", repr(error), "-")

    async def _signed_in(self, role: str, person: str) -> Socket:
        socket = await Socket.open(self.target.port, random.Random(), self.target.token(role, person), self.context)
        welcome, code = await socket.hear({"welcome"}, PATIENCE_SECONDS)
        if welcome is None:
            raise ConnectionError(f"a well-behaved {role} is closed with {code}")
        return socket

    async def _ride(self) -> None:
        socket = await self._signed_in("rider", RIDER)
        socket.send(frame(TEXT, json.dumps({"type": "travel", "job": JOB, "active": True}).encode()))
        number = 0
        while not self.is_over:
            number += 1
            at = int(time.time() * 1000)
            socket.send(
                frame(
                    TEXT,
                    json.dumps(
                        {
                            "type": "location",
                            "job": JOB,
                            "seq": number,
                            "fixes": [{"at": at, "lat": 41.9 + number * 1e-6, "lon": 12.5, "acc": 5}],
                        }
                    ).encode(),
                )
            )
            self.tally.counts["reports"] += 1
            end = time.monotonic() + EVERY_SECONDS
            while (left := end - time.monotonic()) > 0:
                try:
                    got = await socket.receive(left)
                except (TimeoutError, asyncio.TimeoutError):
                    break
                if got is None or got.opcode == CLOSE:
                    raise ConnectionError(f"the bystander's rider is closed with {got and got.close_code}")
                if got.opcode == PING:
                    socket.send(frame(PONG, got.payload))
        await socket.close()

    async def _follow(self) -> None:
        socket = await self._signed_in("customer", CUSTOMER)
        socket.send(frame(TEXT, json.dumps({"type": "subscribe", "job": JOB}).encode()))
        last = time.monotonic()
        while not self.is_over:
            try:
                got = await socket.receive(1)
            except (TimeoutError, asyncio.TimeoutError):
                got = False
            if got is None or got and got.opcode == CLOSE:
                raise ConnectionError(f"the bystander's customer is closed with {got and got.close_code}")
            if got and got.opcode == PING:
                socket.send(frame(PONG, got.payload))
            gap = time.monotonic() - last
            if got and got.opcode == TEXT and got.payload.startswith(b'{"type":"location"'):
                message = json.loads(got.payload)
                if message["job"] != JOB:
                    self.tally.found("the bystander's customer receives another's job", str(message), "-")
                self.tally.counts["positions"] += 1
                self.tally.peak("longest wait for a position, s", gap)
                self.tally.peak("longest delay of a position, s", time.time() - message["at"] / 1000)
                last = time.monotonic()
            elif gap > PATIENCE_SECONDS:
                self.tally.found("the bystander's customer gets no position", f"for {gap:.1f} s", "-")
                last = time.monotonic()
        await socket.close()

    async def _read(self) -> None:
        token = self.target.token("service", "good-service")
        asked = (
            f"GET /api/v1/jobs/{JOB} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"
        ).encode()
        connection = await Connection.open(self.target.port, self.context)
        last = time.monotonic()
        while not self.is_over:
            begun = time.monotonic()
            connection.write(asked)
            answer = await connection.answer("GET", PATIENCE_SECONDS)
            if answer.status == 503:
                # On a machine that pauses for seconds Redis counts as unavailable; it must not last.
                self.tally.counts["valid requests refused temporarily"] += 1
            elif answer.status != 200:
                self.tally.found("a valid request is refused", f"{answer.status} {answer.body[:300]!r}", "-")
            last = last if answer.status == 503 else time.monotonic()
            if time.monotonic() - last > PATIENCE_SECONDS:
                self.tally.found("valid requests are refused for a long time", f"{time.monotonic() - last:.1f} s", "-")
                last = time.monotonic()
            self.tally.counts["valid requests"] += 1
            self.tally.peak("longest valid request, s", time.monotonic() - begun)
            await asyncio.sleep(EVERY_SECONDS)
        await connection.close()
