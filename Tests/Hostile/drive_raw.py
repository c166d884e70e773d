"""(c) Malformed HTTP and malformed TLS over raw sockets. Each connection must carry only HTTP, or TLS alerts; no 500
response; no more responses than requests; and it must end soon after our output has ended. On a secure stage a part of
the connections violates TLS itself, the others HTTP within it."""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
import struct
import time

from bad_http import SMUGGLED, heads
from findings import Tally
from mutations import of_bytes
from target import Target
from wire_http import RESET_AT_ONCE, Answer, Connection, Cut, Ended, OutOfStep, unverified

NAME = "raw"
CONNECTIONS = 24
# Time limit for the gateway to end a connection that we have ended: one deadline of the stage, and a busy machine.
END_SECONDS = 20
# An incomplete request may be waited for when we cannot signal its end.
UNFINISHED_SECONDS = 0.5
BROKEN_TLS = 0.5
STATUSES = set(map(int, "101 200 204 304 400 401 403 404 405 408 411 413 414 415 417 422 426 429 431 501 503 505".split()))
# The media type of the response to the smuggled request.
MARK = "text/css"


class Driver:
    def __init__(self, target: Target, seed: int, worker: int):
        self.target, self.seed, self.worker = target, seed, worker
        self.tally = Tally(NAME)
        self.context = unverified() if target.is_secure else None
        self.newest, self.older = unverified(), unverified()
        self.newest.set_alpn_protocols(["http/1.1"])
        self.older.maximum_version = ssl.TLSVersion.TLSv1_2

    async def run(self, amount: int) -> Tally:
        self.left = amount
        case = iter(range(10**9))
        await asyncio.gather(*(self._keep_on(case) for _ in range(CONNECTIONS)))
        return self.tally

    async def _keep_on(self, case) -> None:
        while self.left > 0:
            seed = f"{self.seed}:{NAME}:{self.worker}:{next(case)}"
            chance = random.Random(seed)
            self.left -= 1
            self.tally.counts["raw connections"] += 1
            try:
                if self.target.is_secure and chance.random() < BROKEN_TLS:
                    await self._tls(chance, seed)
                else:
                    await self._http(chance, seed)
            except (OSError, Ended, ssl.SSLError) as error:
                # The gateway may end a connection at any time; if it accepted none, the bystander would notice.
                self.tally.counts[f"closed {type(error).__name__}"] += 1

    # HTTP

    async def _http(self, chance: random.Random, seed: str) -> None:
        data = heads(chance)
        is_whole = (
            chance.random() >= 0.15 and data.startswith(b"GET ") and b"\r\nUpgrade: " in data and b"/v1 " not in data
        )
        if not is_whole and chance.random() < 0.15:
            data = of_bytes(data, chance, [SMUGGLED])
        connection = await Connection.open(self.target.port, self.context)
        connection.write(data)
        end = chance.random()
        if end < 0.08:
            return connection.reset()
        if end < 0.15:
            return await connection.close()
        # The end of our output: TLS cannot signal it without closing, so the last request has `Connection: close`.
        if self.context is None:
            connection.writer.write_eof()
        else:
            connection.write(b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        await self._answers(connection, data, seed, self.context is None or is_whole)
        await connection.close()

    async def _answers(self, connection: Connection, data: bytes, seed: str, must_end: bool) -> None:
        most = data.count(b"HTTP/") + data.count(b"\n\n") + data.count(b"\r\n\r\n") + 2
        method = "HEAD" if data.startswith(b"HEAD ") else "GET"
        answers: list[Answer] = []
        end = time.monotonic() + (END_SECONDS if must_end else UNFINISHED_SECONDS)
        try:
            while True:
                # A response to HEAD has no body, whatever its headers say.
                answer = await connection.answer(
                    "HEAD" if method == "HEAD" and not answers else "GET", end - time.monotonic()
                )
                answers.append(answer)
                self.tally.counts[f"closed {answer.status}"] += 1
                if answer.status == 500:
                    self.tally.traces.append((answer.trace, f"{data!r:.500}"))
                    self.tally.found("malformed HTTP is answered 500", f"{data!r}\n{answer.body[:300]!r}", seed)
                elif answer.status not in STATUSES:
                    self.tally.found(f"malformed HTTP is answered {answer.status}", f"{data!r}", seed)
                if (
                    answer.headers.get("content-type", "").startswith(MARK)
                    and data.count(b"rider.css")
                    and b"GARBAGE" not in data
                ):
                    self._smuggled(data, answers, seed)
                if answer.status == 101:
                    return
                if len(answers) > most:
                    return self.tally.found("more responses than requests", f"{data!r}", seed)
        except (Ended, Cut, ConnectionError):
            pass
        except (TimeoutError, asyncio.TimeoutError):
            if must_end:
                self.tally.found("a connection that we ended stays open", f"{data!r:.1500}", seed)
        except (OutOfStep, ValueError, asyncio.LimitOverrunError) as error:
            if method != "HEAD":
                self.tally.found("the response is not HTTP", f"{error} after {data!r:.1500}", seed)

    def _smuggled(self, data: bytes, answers: list[Answer], seed: str) -> None:
        """With both lengths, or an unreadable one, nothing after the head may be interpreted as a request."""
        lower = data.lower()
        if b"transfer_encoding" in lower:
            # A header that is irrelevant here.
            return
        # After a mutation has merged it with another line it is not a header.
        lengths, codings = lower.count(b"\ncontent-length"), lower.count(b"\ntransfer-encoding")
        is_double = lengths > 1 or lengths and codings and b"chunked" in lower
        if is_double and len(answers) > 1:
            self.tally.found("a smuggled request is answered", f"{data!r}", seed)

    # TLS

    async def _tls(self, chance: random.Random, seed: str) -> None:
        loop = asyncio.get_running_loop()
        raw = socket.socket()
        raw.setblocking(False)
        sent = b""
        try:
            await loop.sock_connect(raw, ("127.0.0.1", self.target.port))
            kind = chance.randrange(10)
            if kind < 4:
                sent = self._broken_hello(chance)
                await loop.sock_sendall(raw, sent)
            elif kind < 9:
                sent = await self._handshake_then(raw, chance)
            else:
                sent = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
                await loop.sock_sendall(raw, sent)
            if chance.random() < 0.2:
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_ONCE)
                return
            raw.shutdown(socket.SHUT_WR)
            await self._only_records(raw, sent, seed)
        except (ConnectionError, ssl.SSLError):
            pass
        finally:
            raw.close()

    async def _only_records(self, raw: socket.socket, sent: bytes, seed: str) -> None:
        """Until its end the connection carries only TLS records."""
        loop = asyncio.get_running_loop()
        got = b""
        end = time.monotonic() + END_SECONDS
        while True:
            try:
                data = await asyncio.wait_for(loop.sock_recv(raw, 65_536), end - time.monotonic())
            except (TimeoutError, asyncio.TimeoutError):
                return self.tally.found("a connection that we ended stays open (TLS)", f"{sent[:600]!r}", seed)
            if not data:
                break
            got += data
        while got:
            if len(got) < 5 or got[0] not in (20, 21, 22, 23) or got[1] != 3:
                return self.tally.found("the response is not TLS", f"{got[:60]!r} after {sent[:600]!r}", seed)
            got = got[5 + struct.unpack("!H", got[3:5])[0] :]

    def _hello(self) -> bytes:
        out = ssl.MemoryBIO()
        try:
            self.newest.wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost").do_handshake()
        except ssl.SSLWantReadError:
            pass
        return out.read()

    def _broken_hello(self, chance: random.Random) -> bytes:
        hello = self._hello()
        kind = chance.randrange(12)
        if kind < 4:
            return of_bytes(hello, chance, [hello])
        if kind == 4:
            return hello[: chance.randrange(len(hello))]
        if kind == 5:
            # The same hello in many records, with empty ones in between.
            body, parts = hello[5:], b""
            while body:
                size = chance.randint(1, 60)
                parts += b"\x16\x03\x01" + struct.pack("!H", len(body[:size])) + body[:size]
                parts += b"\x16\x03\x01\0\0" if chance.random() < 0.3 else b""
                body = body[size:]
            return parts
        if kind == 6:
            return (
                bytes([chance.choice([20, 21, 22, 23, 24, 0, 255, 128])])
                + chance.choice([b"\x03\x01", b"\x03\x03", b"\x02\0", b"\xff\xff"])
                + struct.pack("!H", chance.choice([0, 1, 2, 16_384, 16_385, 65_535]))
                + chance.randbytes(chance.randint(0, 300))
            )
        if kind == 7:
            return b"\x15\x03\x01\0\x02" + bytes([chance.choice([1, 2, 9]), chance.randrange(256)]) * 1 + hello
        if kind == 8:
            return b"\x15\x03\x01\0\x02\x01\x00" * chance.randint(1, 60)
        if kind == 9:
            return chance.randbytes(chance.randint(1, 2_000))
        if kind == 10:
            return b"\x14\x03\x03\0\x01\x01" * chance.randint(1, 100) + hello
        # A handshake message of 16 MB that never arrives.
        return b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + chance.randbytes(16_380)

    async def _handshake_then(self, raw: socket.socket, chance: random.Random) -> bytes:
        """A valid handshake, and then invalid records."""
        loop = asyncio.get_running_loop()
        into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = self.newest if chance.random() < 0.5 else self.older
        tls = context.wrap_bio(into, out, server_hostname="localhost")
        if chance.random() < 0.2:
            # Within the handshake.
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            await loop.sock_sendall(raw, out.read())
            into.write(await asyncio.wait_for(loop.sock_recv(raw, 65_536), END_SECONDS))
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            data = of_bytes(out.read(), chance) if chance.random() < 0.7 else b""
            await loop.sock_sendall(raw, data)
            return data
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                await loop.sock_sendall(raw, out.read())
                data = await asyncio.wait_for(loop.sock_recv(raw, 65_536), END_SECONDS)
                if not data:
                    raise ConnectionError("the handshake ended early") from None
                into.write(data)
        tls.write(b"GET /rider HTTP/1.1\r\nHost: a\r\n\r\n")
        record = out.read()
        kind = chance.randrange(8)
        if kind == 0:
            record = of_bytes(record, chance)
        elif kind == 1:
            record += record
        elif kind == 2:
            record += b"\x17\x03\x03\0\0" * chance.randint(1, 200)
        elif kind == 3:
            record += (
                b"\x17\x03\x03"
                + struct.pack("!H", chance.choice([1, 16, 16_640, 16_641, 65_535]))
                + chance.randbytes(chance.randint(0, 17_000))
            )
        elif kind == 4:
            record += b"\x14\x03\x03\0\x01\x01" * chance.randint(1, 50)
        elif kind == 5:
            record = record[: chance.randrange(len(record))]
        elif kind == 6:
            record += b"\x16\x03\x03" + struct.pack("!H", 64) + chance.randbytes(64)
        else:
            record += b"\x15\x03\x03\0\x02\x01\0" * chance.randint(1, 40)
        await loop.sock_sendall(raw, record)
        return record


def attack(target: Target, amount: int, seed: int, worker: int) -> Tally:
    return asyncio.run(Driver(target, seed, worker).run(amount))
