"""(d) and (e): peers that only send. Endless control frames before and after sign-in must end the session; responses
that nobody reads must not be buffered in memory. All with the limits of a deployment."""

from __future__ import annotations

import asyncio
import random
import time

from findings import Tally
from target import Target
from wire_http import Connection, Ended, OutOfStep, unverified
from wire_socket import CLOSE, CONTINUATION, PING, PONG, TEXT, Broken, Socket, frame

NAME = "floods"
# A flood must be cut off before this much was accepted; the kernel's buffers hold some MB themselves.
MOST_MEGABYTES = 16
FLOOD_SECONDS = 8
CHUNK = 65_536
DEAF_CONNECTIONS = 16
DEAF_REQUESTS = 400
# Memory limit for all of DEAF_CONNECTIONS together: a queue each, and one response being written.
DEAF_MEGABYTES = 40
DEAF_SECONDS = 3


class Driver:
    def __init__(self, target: Target, seed: int, worker: int):
        self.target, self.seed = target, seed
        self.tally = Tally(NAME)
        self.context = unverified() if target.is_secure else None
        self.chance = random.Random(f"{seed}:{NAME}:{worker}")

    async def run(self, rounds: int) -> Tally:
        for number in range(rounds):
            floods = {
                "unsolicited pongs": frame(PONG),
                "pongs of 125 bytes": frame(PONG, b"x" * 125),
                "pings": frame(PING),
                "pings of 125 bytes": frame(PING, b"x" * 125),
                "empty fragments": frame(CONTINUATION, final=False) * 8 + frame(PONG),
                "messages": frame(TEXT, b'{"type":"ping"}'),
                "invalid messages": frame(TEXT, b"x"),
            }
            seed = f"{self.seed}:{NAME}:{number}"
            await asyncio.gather(
                *(
                    self._guarded(self._flood(name, data, is_signed_in, seed), name, seed)
                    for name, data in floods.items()
                    for is_signed_in in (True, False)
                )
            )
            await self._guarded(self._deaf(seed), "deaf readers", seed)
        return self.tally

    async def _guarded(self, part, name: str, seed: str) -> None:
        try:
            await part
        except (OSError, Ended, OutOfStep, Broken, TimeoutError, asyncio.TimeoutError) as error:
            self.tally.found(f"{name}: the connection failed", repr(error), seed)

    async def _flood(self, name: str, data: bytes, is_signed_in: bool, seed: str) -> None:
        where = f"{name} {'after' if is_signed_in else 'before'} sign-in"
        # Services may have any number of sessions.
        token = self.target.token("service", f"flood-{self.chance.randrange(10**9)}") if is_signed_in else None
        socket = await Socket.open(self.target.port, self.chance, token, self.context)
        if is_signed_in and (await socket.hear({"welcome"}))[0] is None:
            return self.tally.found(f"{where}: no welcome", "", seed)
        if name == "empty fragments":
            socket.send(frame(TEXT, final=False))
        self.tally.counts["floods"] += 1
        block = data * (CHUNK // len(data))
        sent = 0
        end = time.monotonic() + FLOOD_SECONDS
        reading = asyncio.create_task(self._until_closed(socket))
        while not reading.done() and time.monotonic() < end and sent < 4 * MOST_MEGABYTES * 1_048_576:
            socket.send(block)
            sent += len(block)
            try:
                await asyncio.wait_for(socket.connection.drain(), 0.5)
            except (TimeoutError, asyncio.TimeoutError):
                pass
            except (ConnectionError, OSError):
                break
            await asyncio.sleep(0)
        taken = (sent - socket.connection.writer.transport.get_write_buffer_size()) / 1_048_576
        self.tally.counts["frames"] += sent // len(data)
        self.tally.peak(f"accepted from {where}, MB", taken)
        try:
            code = await asyncio.wait_for(reading, 5)
        except (TimeoutError, asyncio.TimeoutError):
            self.tally.found(f"{where} do not end the session", f"{taken:.1f} MB accepted in {FLOOD_SECONDS} s", seed)
        else:
            self.tally.counts[f"closed {code}"] += 1
            if taken > MOST_MEGABYTES:
                self.tally.found(
                    f"{where}: accepted for too long", f"{taken:.1f} MB, more than {MOST_MEGABYTES}, before {code}", seed
                )
        socket.reset()

    @staticmethod
    async def _until_closed(socket: Socket) -> int | None:
        while True:
            try:
                got = await socket.receive(60)
            except (Broken, OSError):
                return None
            if got is None:
                return None
            if got.opcode == CLOSE:
                return got.close_code

    async def _deaf(self, seed: str) -> None:
        """Sends hundreds of requests on each connection without reading the responses; then reads them all."""
        before = self.target.resident_megabytes
        asset = (
            b"GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET /assets/leaflet/leaflet.js HTTP/1.1\r\nHost: a\r\n\r\n",
        )
        connections = []
        for index in range(DEAF_CONNECTIONS):
            connection = await Connection.open(self.target.port, self.context)
            connection.reader._limit = 1024  # Pauses reading immediately, so that the kernel's buffer fills.
            connection.writer.transport.pause_reading()
            connection.write(asset[index % 2] * DEAF_REQUESTS)
            connections.append(connection)
            self.tally.counts["deaf requests"] += DEAF_REQUESTS
        end = time.monotonic() + DEAF_SECONDS
        grown = 0.0
        while time.monotonic() < end:
            await asyncio.sleep(0.05)
            grown = max(grown, self.target.resident_megabytes - before)
        self.tally.peak("buffered for deaf readers, MB", grown)
        if grown > DEAF_MEGABYTES:
            self.tally.found(
                "unread responses are buffered in memory",
                f"{grown:.0f} MB for {DEAF_CONNECTIONS} connections of {DEAF_REQUESTS} requests each, limit {DEAF_MEGABYTES}",
                seed,
            )
        # A client that resumes reading gets every response, in order.
        await self._guarded(self._read_on(connections[0], seed), "a reader that was deaf", seed)
        for connection in connections:
            connection.reset()

    async def _read_on(self, connection: Connection, seed: str) -> None:
        connection.reader._limit = 65_536
        connection.writer.transport.resume_reading()
        read = 0
        try:
            while read < DEAF_REQUESTS:
                answer = await connection.answer("GET")
                if answer.status != 200:
                    return self.tally.found(
                        "a response is lost to a reader that was deaf", f"{answer.status} after {read}", seed
                    )
                read += 1
        except (TimeoutError, asyncio.TimeoutError, OutOfStep) as error:
            self.tally.found("a response is lost to a reader that was deaf", f"{error!r} after {read}", seed)
        except Ended:
            # A peer that does not read is closed after STALL_SECONDS, which had not elapsed.
            self.tally.found("a reader that was deaf for a moment is closed", f"after {read}", seed)
        self.tally.counts["responses read late"] += read


def attack(target: Target, amount: int, seed: int, worker: int) -> Tally:
    return asyncio.run(Driver(target, seed, worker).run(amount))
