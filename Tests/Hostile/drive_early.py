"""(i) Messages sent before `welcome`, while the sign-in is delayed for up to three seconds: by Redis, which is needed
for links and tickets, and by the issuer whose new key signed a token. Early messages are processed after the sign-in,
and no client gets a close code that forbids reconnecting."""

from __future__ import annotations

import asyncio
import json
import random
import time
from pathlib import Path

import held
import issuer
from findings import Tally
from interface import Messages
from target import PEOPLE, Target
from wire_http import Connection, Ended, OutOfStep, unverified
from wire_socket import CLOSE, PING, PONG, TEXT, Broken, Socket, frame, upgrade

NAME = "early"
DELAYS = [0.0, 0.4, 1.2, 2.2, 3.0]
LEAN_DELAYS = [0.0, 0.4, 1.2]
# Every Redis command is delayed, and a sign-in with a snapshot needs several.
QUESTIONS = 6
PATIENCE_SECONDS = 15
# "Try again later" is allowed only when Redis does not answer in time. A link needs two answers.
LATER = {4000, 4003, 4004, 4008}
OUTAGE_SECONDS = 1.0
EARLY_MESSAGES = 12
# Minimum time between two fetches from an issuer, s.
ISSUER_SECONDS = 31


def say(**members) -> bytes:
    return frame(TEXT, json.dumps(members).encode())


class Driver:
    def __init__(self, target: Target, seed: int, worker: int):
        self.target, self.seed = target, seed
        self.tally = Tally(NAME)
        self.messages = Messages(target.document("asyncapi.json"))
        self.context = unverified() if target.is_secure else None

    async def run(self, amount: int) -> Tally:
        delays = DELAYS if amount > len(LEAN_DELAYS) else LEAN_DELAYS
        for number in range(max(1, amount // len(delays))):
            for seconds in delays:
                seed = f"{self.seed}:{NAME}:{number}:{seconds}"
                chance = random.Random(seed)
                held.delay.value = 0
                ways = [
                    await self._by_link(0),
                    await self._by_link(1),
                    await self._by_ticket(chance),
                    self._by_header(chance),
                    self._by_auth(chance),
                    self._by_many(chance),
                    await self._by_pieces(2),
                ]
                held.delay.value = seconds
                await asyncio.gather(
                    *(
                        self._try(way, data, jobs, token, protocol, seconds, chance, seed)
                        for way, data, jobs, token, protocol in ways
                    )
                )
                held.delay.value = 0
                await self._calm()
        await self._new_keys(amount)
        # A machine that pauses causes some of them; when Redis answers immediately, most sign-ins must succeed.
        if self.tally.counts["refused temporarily too soon"] > self.tally.counts["early sign-ins"] // 4:
            self.tally.found("early: many sign-ins are refused temporarily", str(self.tally.counts), str(self.seed))
        return self.tally

    def _later(self, seconds: float) -> None:
        self.tally.counts["refused temporarily" + (" too soon" if seconds < OUTAGE_SECONDS else "")] += 1

    async def _new_keys(self, amount: int) -> None:
        """Tokens signed by keys that the issuer publishes while they are presented. It is queried at most every 30 s: a sign-in
        in between may be refused temporarily (B2), but the token must not be called invalid."""
        folder = Path(self.target.log).parent
        for number, seconds in ((1, 1.0), (2, 0.0), (3, 3.0)) if amount > len(LEAN_DELAYS) else ((1, 1.0), (2, 0.0)):
            seed = f"{self.seed}:{NAME}:key:{number}"
            chance = random.Random(seed)
            signed = [issuer.token(folder, number, "customer", f"customer-{index}") for index in (1, 2)]
            issuer.published.value = number + 1
            held.delay.value = seconds
            is_asked = number != 2
            if number == 3:
                await asyncio.sleep(ISSUER_SECONDS)
            await asyncio.gather(
                self._try(
                    "new key, header",
                    say(type="subscribe", job="visit-1"),
                    ["visit-1"],
                    signed[0],
                    "enroute.v1",
                    seconds if is_asked else OUTAGE_SECONDS,
                    chance,
                    seed,
                ),
                self._try(
                    "new key, auth",
                    say(type="auth", token=signed[1]) + say(type="subscribe", job="visit-2"),
                    ["visit-2"],
                    None,
                    "enroute.v1",
                    seconds if is_asked else OUTAGE_SECONDS,
                    chance,
                    seed,
                ),
            )
            held.delay.value = 0
            await self._calm()

# Variants: name, data sent with the upgrade, jobs, and how the upgrade signs in.

    async def _by_link(self, index: int):
        job = f"visit-{index}"
        return (
            "link and subscribe",
            say(type="auth", link=self.target.links[index]) + say(type="subscribe", job=job),
            [job],
            None,
            "enroute.v1",
        )

    async def _by_pieces(self, index: int):
        job = f"visit-{index}"
        data = (
            say(type="auth", link=self.target.links[index])
            + say(type="ping")
            + frame(PING, b"early")
            + say(type="subscribe", job=job)
        )
        return ("link, pings and subscribe", data, [job], None, "enroute.v1")

    async def _by_ticket(self, chance: random.Random):
        ticket = await self._ticket()
        return (
            "ticket and subscribe",
            say(type="subscribe", job="visit-3"),
            ["visit-3"],
            None,
            f"enroute.v1, ticket.{ticket}",
        )

    def _by_header(self, chance: random.Random):
        return (
            "header and subscribe",
            say(type="subscribe", job="visit-4"),
            ["visit-4"],
            self.target.token("customer", "customer-4"),
            "enroute.v1",
        )

    def _by_auth(self, chance: random.Random):
        token = self.target.token("customer", "customer-5")
        return (
            "token and subscribe",
            say(type="auth", token=token) + say(type="subscribe", job="visit-5"),
            ["visit-5"],
            None,
            "enroute.v1",
        )

    def _by_many(self, chance: random.Random):
        jobs = [f"visit-{index * PEOPLE}" for index in range(5)]
        data = (
            say(type="auth", link=self.target.links[0])
            + say(type="ping") * EARLY_MESSAGES
            + say(type="subscribe", job="visit-0")
        )
        return ("link and many messages", data, jobs[:1], None, "enroute.v1")

    async def _ticket(self) -> str:
        connection = await Connection.open(self.target.port, self.context)
        token = self.target.token("customer", "customer-3")
        connection.write(
            f"POST /api/v1/tickets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nContent-Length: 0\r\n\r\n".encode()
        )
        answer = await connection.answer("POST")
        await connection.close()
        return json.loads(answer.body)["ticket"]

    async def _try(self, way, data, jobs, token, protocol, seconds, chance, seed) -> None:
        where = f"{way}, answers held for {seconds} s"
        self.tally.counts["early sign-ins"] += 1
        socket = None
        try:
            connection = await Connection.open(self.target.port, self.context)
            # In one write with the upgrade, before its answer: as early as possible.
            connection.write(upgrade(self.target.port, chance, token, protocol=protocol) + data)
            answer = await connection.head()
            if answer.status != 101:
                return self.tally.found(f"{way}: the upgrade is refused", f"{where}: {answer.status}", seed)
            socket = Socket(connection)
            await self._hear(socket, way, jobs, seconds, where, seed)
        except (Broken, OutOfStep, Ended, OSError) as error:
            self.tally.found(f"{way}: the connection breaks", f"{where}: {error!r}", seed)
        except (TimeoutError, asyncio.TimeoutError):
            self.tally.found(f"{way}: no answer", where, seed)
        finally:
            if socket:
                await socket.close()

    async def _hear(self, socket: Socket, way: str, jobs: list[str], seconds: float, where: str, seed: str) -> None:
        """Expects the welcome first, then each job's snapshot."""
        missing, is_welcome, heard = set(jobs), False, []
        end = time.monotonic() + PATIENCE_SECONDS + QUESTIONS * seconds
        begun = time.monotonic()
        while missing:
            got = await socket.receive(end - time.monotonic())
            if got is None or got.opcode == CLOSE:
                code = got.close_code if got else None
                self.tally.counts[f"closed {code}"] += 1
                if code in LATER:
                    self._later(seconds)
                else:
                    self.tally.found(f"{way}: closed with {code}", f"{where}, after {heard}: {got and got.payload!r}", seed)
                return
            if got.opcode == PING:
                socket.send(frame(PONG, got.payload))
            if got.opcode != TEXT:
                continue
            if wrong := self.messages.wrong(got.payload):
                self.tally.found(f"a message differs from its documentation: {wrong[:100]}", f"{where}: {got.payload!r}", seed)
            message = json.loads(got.payload)
            heard.append(message["type"])
            if message["type"] == "welcome":
                is_welcome = True
                self.tally.peak("longest sign-in, s", time.monotonic() - begun)
            elif not is_welcome and message["type"] not in ("degraded", "restored", "error"):
                self.tally.found(f"{way}: {message['type']} before welcome", where, seed)
            if message["type"] in ("subscribed", "reset"):
                missing.discard(message["job"])
                self.tally.counts["snapshots"] += 1
            if message["type"] == "error":
                if message["code"] == "unavailable":
                    return self._later(seconds)
                self.tally.found(f"{way}: error {message['code']}", f"{where}: {message}", seed)
                return

    async def _calm(self) -> None:
        """Waits until Redis answers the gateway normally again."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                socket = await Socket.open(
                    self.target.port, random.Random(), self.target.token("customer", "customer-4"), self.context
                )
                socket.send(say(type="subscribe", job="visit-4"))
                got, _ = await socket.hear({"subscribed", "reset", "error"}, 10)
                await socket.close()
                if got and b'"error"' not in got[:20]:
                    return
            except (OSError, Ended, TimeoutError, asyncio.TimeoutError):
                pass
            await asyncio.sleep(0.2)


def attack(target: Target, amount: int, seed: int, worker: int) -> Tally:
    return asyncio.run(Driver(target, seed, worker).run(amount))
