"""(j) Phones that lose their network, and deliberately slow peers: event streams that are reset right after the request,
heads and bodies that arrive one byte at a time, and followers that read nothing. Sessions, descriptors and memory must be
released; slow peers must be disconnected."""

from __future__ import annotations

import asyncio
import random
import time

from findings import Tally
from target import PEOPLE, Target
from wire_http import Connection, Ended, OutOfStep, unverified
from wire_socket import TEXT, Broken, Socket, frame

NAME = "streams"
RESETS = 40
# A person may have five sessions; after its streams were reset, there must be room for as many again.
PLACES = 5
PLACES_SECONDS = 15
DRIPS = 12
DRIP_EVERY_SECONDS = 0.4
# Time limit until a drip is closed: that of a request's head and body, and a busy machine.
DRIP_SECONDS = {"head": 20, "body": 75}
DEAF = 6
DEAF_SECONDS = 40
DEAF_MEGABYTES = 40


class Driver:
    def __init__(self, target: Target, seed: int, worker: int):
        self.target, self.seed, self.worker = target, seed, worker
        self.tally = Tally(NAME)
        self.context = unverified() if target.is_secure else None

    async def run(self, rounds: int) -> Tally:
        is_long = rounds > 1
        for number in range(rounds):
            seed = f"{self.seed}:{NAME}:{self.worker}:{number}"
            chance = random.Random(seed)
            await self._resets(chance, seed)
            await self._links(chance, seed)
        seed = f"{self.seed}:{NAME}:{self.worker}"
        parts = [self._drip("head", seed)]
        if is_long:
            parts += [self._drip("body", seed), self._deaf(seed)]
        await asyncio.gather(*parts)
        return self.tally

    def _asked(self, credential: str, job: str) -> bytes:
        return f"GET /api/v1/jobs/{job}/events HTTP/1.1\r\nHost: a\r\nAuthorization: {credential}\r\n\r\n".encode()

    async def _reset_soon(self, data: bytes, chance: random.Random) -> None:
        try:
            connection = await Connection.open(self.target.port, self.context)
            connection.write(data)
            if wait := chance.choice([0, 0, 0.0005, 0.001, 0.002, 0.005, 0.02]):
                await asyncio.sleep(wait)
            if chance.random() < 0.8:
                connection.reset()
            else:
                await connection.close()
            self.tally.counts["streams reset"] += 1
        except OSError:
            pass

    async def _resets(self, chance: random.Random, seed: str) -> None:
        """B45: sessions of streams whose connection ended before they started stayed forever."""
        person = chance.randrange(PEOPLE)
        credential = f"Bearer {self.target.token('customer', f'customer-{person}')}"
        data = self._asked(credential, f"visit-{person}")
        for _ in range(RESETS // 8):
            await asyncio.gather(*(self._reset_soon(data, chance) for _ in range(8)))
        await self._has_room(data, PLACES, f"customer-{person} after {RESETS} streams were reset", seed)

    async def _links(self, chance: random.Random, seed: str) -> None:
        """The same for link viewers: the link's viewer leases are released."""
        index = chance.randrange(len(self.target.links))
        data = self._asked(f"Link {self.target.links[index]}", f"visit-{index}")
        await asyncio.gather(*(self._reset_soon(data, chance) for _ in range(8)))
        await self._has_room(data, PLACES, "a link after 8 of its streams were reset", seed)

    async def _has_room(self, data: bytes, places: int, who: str, seed: str) -> None:
        end = time.monotonic() + PLACES_SECONDS
        status = None
        while time.monotonic() < end:
            connections, status = [], 200
            try:
                for _ in range(places):
                    connection = await Connection.open(self.target.port, self.context)
                    connections.append(connection)
                    connection.write(data)
                    status = (await connection.head()).status
                    if status != 200:
                        break
            except (OSError, Ended, OutOfStep, TimeoutError, asyncio.TimeoutError) as error:
                status = repr(error)
            for connection in connections:
                await connection.close()
            if status == 200:
                return
            # Long enough for the person's rate (10 requests a second) to allow all of the next attempt.
            await asyncio.sleep(1)
        self.tally.found("sessions are not released after streams were reset", f"{who}: {status}", seed)

# Deliberately slow

    async def _drip(self, part: str, seed: str) -> None:
        outcomes = await asyncio.gather(*(self._one_drip(part) for _ in range(DRIPS)))
        lasting = [one for one in outcomes if one is None]
        self.tally.counts[f"drips of a {part}"] += DRIPS
        if outcomes:
            self.tally.peak(f"longest drip of a {part}, s", max(one or DRIP_SECONDS[part] for one in outcomes))
        if lasting:
            self.tally.found(
                f"a {part} may drip forever", f"{len(lasting)} of {DRIPS} are open after {DRIP_SECONDS[part]} s", seed
            )

    async def _one_drip(self, part: str) -> float | None:
        """Returns the seconds until it is closed."""
        token = self.target.token("service", "service-0")
        begun = time.monotonic()
        try:
            connection = await Connection.open(self.target.port, self.context)
            if part == "body":
                connection.write(
                    (
                        f"POST /api/v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n"
                        "Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n"
                    ).encode()
                )
            while time.monotonic() - begun < DRIP_SECONDS[part]:
                connection.write(b" " if part == "body" else b"G")
                await connection.drain()
                try:
                    data = await asyncio.wait_for(connection.reader.read(4096), DRIP_EVERY_SECONDS)
                    if not data or b"HTTP/1.1 4" in data:
                        connection.reset()
                        return time.monotonic() - begun
                except (TimeoutError, asyncio.TimeoutError):
                    pass
        except OSError:
            return time.monotonic() - begun
        connection.reset()
        return None

    async def _deaf(self, seed: str) -> None:
        """Services that request pools and snapshots as fast as permitted, without reading them."""
        before = self.target.resident_megabytes
        await asyncio.gather(*(self._one_deaf(index) for index in range(DEAF)))
        grown = self.target.resident_megabytes - before
        self.tally.counts["deaf sessions"] += DEAF
        self.tally.peak("buffered for deaf sessions, MB", grown)
        if grown > DEAF_MEGABYTES:
            self.tally.found(
                "unread messages are buffered in memory", f"{grown:.0f} MB for {DEAF} sessions", seed
            )

    async def _one_deaf(self, index: int) -> None:
        try:
            socket = await Socket.open(
                self.target.port, random.Random(index), self.target.token("service", f"deaf-{index}"), self.context
            )
            socket.connection.reader._limit = 1024
            socket.connection.writer.transport.pause_reading()
            end = time.monotonic() + DEAF_SECONDS
            number = 0
            while time.monotonic() < end and not socket.connection.writer.transport.is_closing():
                number += 1
                socket.send(frame(TEXT, b'{"type":"subscribe","job":"visit-%d"}' % (number % PEOPLE)))
                socket.send(frame(TEXT, b'{"type":"unsubscribe","job":"visit-%d"}' % (number % PEOPLE)))
                await socket.connection.drain()
                await asyncio.sleep(0.11)
            socket.reset()
        except (OSError, Broken, Ended):
            pass


def attack(target: Target, amount: int, seed: int, worker: int) -> Tally:
    return asyncio.run(Driver(target, seed, worker).run(amount))
