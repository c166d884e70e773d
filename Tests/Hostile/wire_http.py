"""A hand-written HTTP/1.1 client: it sends any bytes, and parses responses as strictly as they must be written, so that a
misplaced one is detected."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct

from interface import Answer

ANSWER_SECONDS = 30
CONNECT_SECONDS = 30
LONGEST_HEAD = 32_768
LONGEST_BODY = 8_388_608
RESET_AT_ONCE = struct.pack("ii", 1, 0)


class Ended(Exception):
    """The gateway closed the connection where a response could have started."""


class OutOfStep(Exception):
    """The received bytes are not a response."""


def unverified() -> ssl.SSLContext:
    return ssl._create_unverified_context()


class Cut(OutOfStep):
    """The connection ended within a response."""


class Connection:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port: int, context: ssl.SSLContext | None = None) -> Connection:
        reader, writer = await asyncio.wait_for(
            asyncio.open_connection("127.0.0.1", port, ssl=context, limit=LONGEST_HEAD), CONNECT_SECONDS
        )
        return cls(reader, writer)

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def drain(self) -> None:
        await self.writer.drain()

    async def head(self, patience: float = ANSWER_SECONDS) -> Answer:
        """Returns status and headers; raises Ended, OutOfStep, TimeoutError."""
        try:
            head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), patience)
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise Cut(f"the connection ended within a head: {error.partial[:200]!r}") from None
            raise Ended from None
        except asyncio.LimitOverrunError:
            raise OutOfStep("a head without an end") from None
        except (ConnectionError, ssl.SSLError) as error:
            raise Ended(str(error)) from None
        lines = head[:-4].decode("latin-1").split("\r\n")
        words = lines[0].split(" ", 2)
        if not words[0].startswith("HTTP/1.") or len(words) < 2 or not words[1].isdigit():
            raise OutOfStep(f"not a status line: {head[:200]!r}")
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise OutOfStep(f"not a header: {line[:200]!r}")
            name = name.lower()
            headers[name] = f"{headers[name]}, {value.strip()}" if name in headers else value.strip()
        return Answer(int(words[1]), headers, b"")

    async def answer(self, method: str, patience: float = ANSWER_SECONDS) -> Answer:
        answer = await self.head(patience)
        while answer.status == 100:
            answer = await self.head(patience)
        if method == "HEAD" or answer.status in (204, 304) or answer.status < 200:
            return answer
        try:
            answer.body = await asyncio.wait_for(self._body(answer), patience)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError) as error:
            raise Cut(f"a body without its end: {error}") from None
        return answer

    async def _body(self, answer: Answer) -> bytes:
        if "chunked" in answer.headers.get("transfer-encoding", ""):
            parts = []
            while True:
                line = await self.reader.readuntil(b"\r\n")
                size = int(line.split(b";")[0], 16)
                chunk = await self.reader.readexactly(size + 2)
                if size == 0:
                    return b"".join(parts)
                parts.append(chunk[:-2])
        if "content-length" in answer.headers:
            size = int(answer.headers["content-length"])
            if size > LONGEST_BODY:
                raise OutOfStep(f"a body of {size} bytes")
            return await self.reader.readexactly(size)
        return await self.reader.read(LONGEST_BODY)

    async def close(self) -> None:
        self.writer.close()
        try:
            await asyncio.wait_for(self.writer.wait_closed(), 5)
        except (OSError, ssl.SSLError, asyncio.TimeoutError):
            self.writer.transport.abort()

    def reset(self) -> None:
        """Sends a RST, as a phone does when its network returns after an interruption."""
        if sock := self.writer.get_extra_info("socket"):
            try:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_ONCE)
            except OSError:
                pass
        self.writer.transport.abort()
