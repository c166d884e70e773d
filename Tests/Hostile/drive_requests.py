"""(b) Mutated REST requests of every role for every operation of /openapi.json, with faults in paths, queries, headers and
bodies. Each response must be documented for its operation, in form and status, and arrive in order: about twenty requests
are pipelined on a connection."""

from __future__ import annotations

import asyncio
import random
import time

from findings import Tally
from interface import Interface, Messages
from made_requests import STREAMS, Request, RequestMaker
from target import Target
from wire_http import Connection, Cut, Ended, OutOfStep, unverified

NAME = "requests"
CONNECTIONS = 8
BATCH = 20
# How long a stream is read; it has a connection of its own.
STREAM_SECONDS = 0.3


class Driver:
    def __init__(self, target: Target, seed: int, worker: int):
        self.target, self.seed, self.worker = target, seed, worker
        self.interface = Interface(target.document("openapi.json"))
        self.messages = Messages(target.document("asyncapi.json"))
        self.tally = Tally(NAME)
        self.context = unverified() if target.is_secure else None
        self.maker = RequestMaker(target, self.interface, worker)

    async def run(self, amount: int) -> Tally:
        self.left = amount
        case = iter(range(10**9))
        await asyncio.gather(*(self._keep_on(case) for _ in range(CONNECTIONS)))
        return self.tally

    async def _keep_on(self, case) -> None:
        connection: Connection | None = None
        while self.left > 0:
            seed = f"{self.seed}:{NAME}:{self.worker}:{next(case)}"
            chance = random.Random(seed)
            try:
                connection = connection or await Connection.open(self.target.port, self.context)
                if chance.random() < 0.04:
                    await self._stream(chance, seed)
                elif not await self._batch(connection, chance, seed):
                    await connection.close()
                    connection = None
            except (OSError, Ended) as error:
                self.tally.found("a connection is refused", repr(error), seed)
                connection = None
        if connection:
            await connection.close()

    async def _batch(self, connection: Connection, chance: random.Random, seed: str) -> bool:
        """Returns False when the connection has ended."""
        requests = [self.maker.request(chance) for _ in range(BATCH)]
        # A request that ends the connection comes last: input after it may cost the responses before it.
        requests.sort(key=lambda one: one.is_rough)
        del requests[next((at for at, one in enumerate(requests) if one.is_rough), BATCH) + 1 :]
        connection.write(b"".join(one.data for one in requests))
        for index, one in enumerate(requests):
            try:
                answer = await connection.answer(one.method)
            except (TimeoutError, asyncio.TimeoutError):
                self.tally.found("a request is not answered", f"{one.data!r}", seed)
                return False
            except (Ended, Cut) as error:
                if not requests[-1].is_rough:
                    before = requests[index - 1].data if index else b""
                    self.tally.found(
                        "a connection ends without notice", f"{error!r} at {one.data!r} after {before!r}", seed
                    )
                return False
            except OutOfStep as error:
                before = requests[index - 1].data if index else b""
                self.tally.found("responses are out of order", f"{error}; sent {one.data!r} after {before!r}", seed)
                return False
            self.tally.counts["requests"] += 1
            self.tally.counts[f"closed {answer.status}"] += 1
            self.left -= 1
            self._check(one, answer, seed)
            if answer.headers.get("connection", "").lower() == "close":
                self.tally.counts["connections closed"] += 1
                return False
        return True

    def _check(self, one: Request, answer, seed: str) -> None:
        path = one.path.decode("latin-1")
        if answer.status == 500:
            self.tally.traces.append((answer.trace, f"{one.data!r:.500}"))
            self.tally.found(
                f"an answer 500 to {self._name(one.method, path)}", f"{one.data!r}\n{answer.body[:400]!r}", seed
            )
        if not one.is_http and answer.status == 400 and not answer.body:
            return
        if wrong := self.interface.wrong(one.method, path, answer, is_again=b"\r\nIdempotency-Key:" in one.data):
            self.tally.found(wrong[:160], f"{one.data!r}\n{answer.status} {answer.headers} {answer.body[:500]!r}", seed)

    def _name(self, method: str, path: str) -> str:
        operation, _ = self.interface.asked(method, path)
        return operation.name if operation else "no operation"

    # Streams

    async def _stream(self, chance: random.Random, seed: str) -> None:
        """Follows a job by server-sent events for a moment; only messages of the gateway may arrive."""
        operation = next(one for one in self.interface.operations if one.name in STREAMS)
        one = self.maker.of(operation, chance)
        connection = await Connection.open(self.target.port, self.context)
        try:
            connection.write(one.data)
            answer = await connection.head()
            is_stream = answer.status == 200 and answer.headers.get("content-type", "").startswith("text/event-stream")
            if not is_stream or one.method == "HEAD":
                if one.method != "HEAD" and answer.status not in (204, 304):
                    answer.body = await asyncio.wait_for(connection._body(answer), 30)
                self._check(one, answer, seed)
            else:
                await self._events(connection, one, seed)
        except (TimeoutError, asyncio.TimeoutError):
            self.tally.found("a stream is not answered", f"{one.data!r}", seed)
        except (Ended, Cut):
            if not one.is_rough:
                self.tally.found("a connection ends without notice", f"{one.data!r}", seed)
        except (OutOfStep, asyncio.IncompleteReadError, ValueError) as error:
            self.tally.found("a stream is out of order", f"{error}: {one.data!r}", seed)
        self.tally.counts["requests"] += 1
        self.tally.counts["streams"] += 1
        self.left -= 1
        if chance.random() < 0.5:
            connection.reset()
        else:
            await connection.close()

    async def _events(self, connection: Connection, one: Request, seed: str) -> None:
        text = b""
        end = time.monotonic() + STREAM_SECONDS
        while (left := end - time.monotonic()) > 0:
            try:
                data = await asyncio.wait_for(connection.reader.read(65_536), left)
            except (TimeoutError, asyncio.TimeoutError):
                break
            except ConnectionError:
                break
            if not data:
                break
            text += data
        for line in text.split(b"\n"):
            if (
                line.startswith(b"data:")
                and (wrong := self.messages.wrong(line[5:].strip()))
                and b'"code"' not in line[:40]
            ):
                self.tally.found(
                    f"an event differs from its documentation: {wrong[:120]}", f"{line[:400]!r} after {one.data!r}", seed
                )


def attack(target: Target, amount: int, seed: int, worker: int) -> Tally:
    return asyncio.run(Driver(target, seed, worker).run(amount))
