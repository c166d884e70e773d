"""A WebSocket client (RFC 6455) on asyncio that is cheap enough for thousands of connections in one process. The gateway never
fragments a message, and the mask is zero, because masking protects against caches that do not exist here."""
import asyncio, json

UPGRADE = (
    "GET /v1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: enroute.v1\r\n\r\n").encode()
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
ABNORMAL = 1006  # no close frame was received


def encoded(kind, payload):
    """Returns a final, masked frame."""
    if len(payload) < 126:
        return bytes((0x80 | kind, 0x80 | len(payload))) + b"\0\0\0\0" + payload
    return bytes((0x80 | kind, 0x80 | 126)) + len(payload).to_bytes(2, "big") + b"\0\0\0\0" + payload


class FrameReader:
    """Splits received bytes into frames. A value: no socket."""

    def __init__(self):
        self.rest = b""

    def frames(self, data):
        """Returns a list of (opcode, payload) and keeps an incomplete frame for the next call."""
        data, at, found = self.rest + data if self.rest else data, 0, []
        while len(data) - at >= 2:
            length, begin = data[at + 1] & 127, at + 2
            if length == 126:
                begin += 2
                if len(data) < begin:
                    break
                length = int.from_bytes(data[at + 2:begin], "big")
            elif length == 127:
                begin += 8
                if len(data) < begin:
                    break
                length = int.from_bytes(data[at + 2:begin], "big")
            if len(data) < begin + length:
                break
            found.append((data[at] & 15, data[begin:begin + length]))
            at = begin + length
        self.rest = data[at:]
        return found


class Socket(asyncio.Protocol):
    """One connection. It calls `opened`, `received(message)` and, once, `closed(code, why)` of its owner."""

    def __init__(self, owner):
        self.owner, self.transport, self.head, self.reader = owner, None, b"", None

    def connection_made(self, transport):
        self.transport = transport
        transport.write(UPGRADE)

    def data_received(self, data):
        if self.reader is None:
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return
            status = self.head[9:12].decode(errors="replace")
            if status != "101":
                return self.finish(ABNORMAL, f"HTTP {status}")
            data, self.head, self.reader = self.head[end + 4:], b"", FrameReader()
            if self.owner is not None:
                self.owner.opened()
        for kind, payload in self.reader.frames(data):
            if self.owner is None:
                return
            if kind == TEXT:
                self.owner.received(json.loads(payload))
            elif kind == PING:
                self.transport.write(encoded(PONG, payload))
            elif kind == CLOSE:
                self.transport.write(encoded(CLOSE, payload[:2]))
                code = int.from_bytes(payload[:2], "big") if len(payload) >= 2 else ABNORMAL
                return self.finish(code, "close frame")

    def connection_lost(self, error):
        self.finish(ABNORMAL, "reset" if error else "end of stream" if self.reader else "refused by the balancer")

    def send(self, message):
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(encoded(TEXT, json.dumps(message, separators=(",", ":")).encode()))

    def finish(self, code, why):
        """Closes the socket and reports it; later events are ignored."""
        owner, self.owner = self.owner, None
        if self.transport is not None:
            self.transport.close()
        if owner is not None:
            owner.closed(code, why)

    def abandon(self):
        """Drops the connection without reporting it."""
        self.owner = None
        if self.transport is not None:
            self.transport.abort()
