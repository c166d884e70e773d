"""A hand-written WebSocket client (RFC 6455): it sends any frame, and checks frames of the gateway against every rule."""

from __future__ import annotations

import asyncio
import base64
import random
import ssl
import struct
from dataclasses import dataclass

from wire_http import ANSWER_SECONDS, Connection, Ended, OutOfStep

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def frame(
    opcode: int,
    payload: bytes = b"",
    *,
    final: bool = True,
    reserved: int = 0,
    mask: bytes | None = b"\0\0\0\0",
    length: int | None = None,
    form: int | None = None,
) -> bytes:
    """`length` is the length in the header, `form` its encoding (7, 16 or 64 bits); by default they are correct."""
    said = len(payload) if length is None else length
    form = form or (7 if said < 126 else 16 if said < 65_536 else 64)
    masked = 0x80 if mask is not None else 0
    head = bytes([(0x80 if final else 0) | reserved << 4 | opcode])
    if form == 7:
        head += bytes([masked | said & 0x7F])
    elif form == 16:
        head += bytes([masked | 126]) + struct.pack("!H", said & 0xFFFF)
    else:
        head += bytes([masked | 127]) + struct.pack("!Q", said & (2**64 - 1))
    if mask is None:
        return head + payload
    if any(mask) and payload:
        key = (mask * (len(payload) // 4 + 1))[: len(payload)]
        payload = (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(len(payload), "big")
    return head + mask + payload


def key(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(16)).decode()


def upgrade(
    port: int, chance: random.Random, token: str | None, more: str = "", protocol: str = "enroute.v1", path: str = "/v1"
) -> bytes:
    sign_in = f"Authorization: Bearer {token}\r\n" if token else ""
    return (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key(chance)}\r\n"
        f"Sec-WebSocket-Protocol: {protocol}\r\n{sign_in}{more}\r\n"
    ).encode()


@dataclass
class Frame:
    opcode: int
    payload: bytes

    @property
    def close_code(self) -> int:
        return struct.unpack("!H", self.payload[:2])[0] if len(self.payload) >= 2 else 1005


class Broken(Exception):
    """The gateway violated RFC 6455."""


class Socket:
    """A WebSocket, or a failed upgrade."""

    def __init__(self, connection: Connection):
        self.connection = connection
        # A read that outlives its wait continues: no byte of a frame is lost to a timeout.
        self._reading: asyncio.Task[Frame] | None = None

    @classmethod
    async def open(
        cls,
        port: int,
        chance: random.Random,
        token: str | None,
        context: ssl.SSLContext | None = None,
        first: bytes = b"",
        protocol: str = "enroute.v1",
    ) -> Socket:
        """`first` is sent in one write with the upgrade. Raises Ended, OutOfStep, or ConnectionError for a refusal."""
        connection = await Connection.open(port, context)
        connection.write(upgrade(port, chance, token, protocol=protocol) + first)
        answer = await connection.head()
        if answer.status != 101:
            connection.reset()
            raise ConnectionError(f"the upgrade was answered {answer.status}")
        return cls(connection)

    def send(self, data: bytes) -> None:
        self.connection.write(data)

    async def receive(self, patience: float = ANSWER_SECONDS) -> Frame | None:
        """The next frame, or None at the end of the connection; raises Broken and TimeoutError."""
        reading = self._reading
        if not reading:
            reading = asyncio.ensure_future(self._frame())
            # The caller may no longer wait for the result.
            reading.add_done_callback(lambda done: done.cancelled() or done.exception())
        done, _ = await asyncio.wait({reading}, timeout=patience)
        self._reading = None if done else reading
        if not done:
            raise TimeoutError
        try:
            return reading.result()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError) as error:
            if isinstance(error, asyncio.IncompleteReadError) and error.partial:
                raise Broken(f"the connection ended within a frame: {error.partial[:60]!r}") from None
            return None

    async def _frame(self) -> Frame:
        reader = self.connection.reader
        head = await reader.readexactly(2)
        opcode, length = head[0] & 15, head[1] & 127
        if head[0] & 0x70 or not head[0] & 0x80 or head[1] & 0x80:
            raise Broken(f"a frame with reserved bits, in pieces or masked: {head!r}")
        if length == 126:
            length = struct.unpack("!H", await reader.readexactly(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", await reader.readexactly(8))[0]
        if opcode not in (TEXT, CLOSE, PING, PONG) or opcode >= 8 and length > 125:
            raise Broken(f"a frame of opcode {opcode} with {length} bytes")
        return Frame(opcode, await reader.readexactly(length))

    async def hear(self, kinds: set[str], patience: float = ANSWER_SECONDS) -> tuple[bytes | None, int | None]:
        """The first message of one of these types, or the code of the close frame that came instead (None: without a frame)."""
        while True:
            got = await self.receive(patience)
            if got is None:
                return None, None
            if got.opcode == CLOSE:
                return None, got.close_code
            if got.opcode == PING:
                self.send(frame(PONG, got.payload))
            elif got.opcode == TEXT and any(f'"type":"{kind}"'.encode() in got.payload[:80] for kind in kinds):
                return got.payload, None

    async def close(self) -> None:
        self._forget()
        await self.connection.close()

    def reset(self) -> None:
        self._forget()
        self.connection.reset()

    def _forget(self) -> None:
        if self._reading:
            self._reading.cancel()
            self._reading = None


__all__ = ["Broken", "Ended", "Frame", "OutOfStep", "Socket", "frame", "key", "upgrade"]
