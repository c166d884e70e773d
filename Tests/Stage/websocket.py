"""A WebSocket client (RFC 6455) in the standard library: a rider's app without a browser. A thread reads; messages are
stored in order, and tests wait for one with a condition, never by time."""

import base64
import json
import os
import socket
import ssl
import struct
import threading
import time
from urllib.parse import urlsplit

import bounds

TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA
FINAL, MASKED = 0x80, 0x80


class Closed(Exception):
    """The connection is closed: the gateway's close code, or None without one."""


class WebSocket:
    """One connection to `/v1` of a gateway, signed in during the upgrade."""

    def __init__(self, url: str, token: str, source: str | None = None, headers: str = ""):
        """`source`: the client's own address, for example 127.0.0.2. `headers`: more lines of the upgrade request."""
        address = urlsplit(url)
        self._socket = socket.create_connection(
            (address.hostname, address.port), timeout=bounds.CONNECT_SECONDS,
            source_address=(source, 0) if source else None)
        if address.scheme == "https":
            self._socket = ssl._create_unverified_context().wrap_socket(self._socket)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._input = self._socket.makefile("rb")
        self._write = threading.Lock()
        self.heard: list[dict] = []
        self._news = threading.Condition()
        self.close_code: int | None = None
        self.is_open = True
        self._upgrade(address.netloc, f"{address.path}/v1", token, headers)
        self._socket.settimeout(None)
        threading.Thread(target=self._read, name="websocket", daemon=True).start()

    def say(self, message: dict) -> None:
        """Sends a message. Raises OSError after the connection was closed."""
        self._send(TEXT, json.dumps(message).encode())

    def hear(self, after: int = 0, **members) -> dict:
        """Waits for the first message from index `after` on that has these members, and returns it.

        Raises Closed, or TimeoutError after ANSWER_SECONDS with the received messages."""
        end = time.monotonic() + bounds.ANSWER_SECONDS
        seen = after
        with self._news:
            while True:
                for message in self.heard[seen:]:
                    if all(message.get(name) == value for name, value in members.items()):
                        return message
                seen = len(self.heard)
                if not self.is_open:
                    raise Closed(self.close_code)
                if not self._news.wait(max(0, end - time.monotonic())) and time.monotonic() >= end:
                    raise TimeoutError(f"{members} did not come; heard was {self.heard[after:]}")

    def close(self) -> None:
        try:
            self._send(CLOSE, struct.pack("!H", 1000))
        except OSError:
            pass
        self.cut()

    def cut(self) -> None:
        """Ends the connection without a close, like a phone that loses its network."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def _upgrade(self, host: str, path: str, token: str, headers: str) -> None:
        self._socket.sendall((
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
            f"Sec-WebSocket-Protocol: enroute.v1\r\nAuthorization: Bearer {token}\r\n{headers}\r\n").encode())
        status = self._input.readline().decode()
        if " 101 " not in status:
            raise ConnectionError(f"no WebSocket: {status.strip()}")
        while self._input.readline().strip():
            pass

    def _send(self, opcode: int, payload: bytes) -> None:
        mask = os.urandom(4)
        length = (bytes([MASKED | len(payload)]) if len(payload) < 126
                  else bytes([MASKED | 126]) + struct.pack("!H", len(payload)))
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        with self._write:
            self._socket.sendall(bytes([FINAL | opcode]) + length + mask + masked)

    def _read(self) -> None:
        try:
            while True:
                opcode, payload = self._frame()
                if opcode == PING:
                    self._send(PONG, payload)
                elif opcode == CLOSE:
                    self.close_code = struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else None
                    break
                elif opcode == TEXT:
                    with self._news:
                        self.heard.append(json.loads(payload))
                        self._news.notify_all()
        except (OSError, ValueError, EOFError):
            pass
        with self._news:
            self.is_open = False
            self._news.notify_all()

    def _frame(self) -> tuple[int, bytes]:
        """The gateway never fragments a message."""
        head = self._exactly(2)
        length = head[1] & 127
        if length == 126:
            length = struct.unpack("!H", self._exactly(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", self._exactly(8))[0]
        return head[0] & 15, self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        data = self._input.read(count)
        if len(data) < count:
            raise EOFError
        return data
