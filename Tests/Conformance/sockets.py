"""The fake gateway's connections: a real WebSocket server over TCP that signs clients in, checks what they send, and misbehaves
when a script says so."""

from __future__ import annotations

import asyncio
import http
import json
import re

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from moments import Broken, Clock

# The messages that a client may send, by type (messages.md).
FROM_CLIENTS = {
    "auth", "refresh", "subscribe", "unsubscribe", "travel", "location", "unavailable", "availability", "presence", "watch",
    "unwatch", "ping",
}
ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
MESSAGE_BYTES = 4096
SIGN_IN_SECONDS = 5


class Connection:
    """One WebSocket, from its upgrade on. Messages wait in `inbox`, a subscription of several jobs as one message per job."""

    def __init__(self, socket: ServerConnection, clock: Clock, violations: list, limits: dict):
        self.socket, self._clock, self._violations = socket, clock, violations
        self.inbox: list[dict] = []
        self.subscribed: set[str] = set()
        self.credential: dict | None = None
        self.is_frozen = self.has_ended = False
        self._burst, self._per_second = limits["messagesBurst"], limits["messagesPerSecond"]
        self._tokens, self._counted = self._burst, clock.seconds()

    def check(self, text: str | bytes) -> dict | None:
        """Returns a message; None after a violation of the protocol, which fails the script."""
        try:
            message = json.loads(text) if isinstance(text, str) else None
        except ValueError:
            message = None
        if not isinstance(message, dict) or message.get("type") not in FROM_CLIENTS:
            return self._violated(f"not a message of the protocol: {text!r:.200}")
        if len(text.encode()) > MESSAGE_BYTES:
            self._violated(f"a message of {len(text.encode())} bytes; the limit is {MESSAGE_BYTES}")
        ref = message.get("ref")
        if ref is not None and not (isinstance(ref, str) and 1 <= len(ref) <= 64):
            self._violated(f"`ref` is not a string of 1 to 64 characters: {ref!r:.100}")
        for job in jobs_of(message):
            if not isinstance(job, str) or not ID.match(job):
                self._violated(f"not an id of a job: {job!r:.100}")
        now = self._clock.seconds()
        self._tokens = min(self._burst, self._tokens + (now - self._counted) * self._per_second) - 1
        self._counted = now
        if self._tokens < 0:
            self._violated(f"more than {self._burst} messages at once and {self._per_second} a second")
        return message

    def _violated(self, what: str) -> None:
        self._violations.append(what)

    async def send(self, message: dict) -> None:
        if self.is_frozen or self.has_ended:
            return
        try:
            await self.socket.send(json.dumps(message))
        except ConnectionClosed:
            self.has_ended = True

    async def close(self, code: int, reason: str) -> None:
        """Does not wait for the client's answer."""
        self.has_ended = True
        asyncio.create_task(self.socket.close(code, reason))

    def cut(self) -> None:
        self.has_ended = True
        self.socket.transport.abort()

    def freeze(self) -> None:
        """The machine disappears silently: nothing is read, answered or closed any longer."""
        self.is_frozen = self.has_ended = True
        self.socket.transport.pause_reading()


def jobs_of(message: dict) -> list:
    """The jobs that a message names."""
    listed = message.get("jobs", [message["job"]] if "job" in message else [])
    return [job.get("job") if isinstance(job, dict) else job for job in listed] if isinstance(listed, list) else [listed]


def single(message: dict) -> list[dict]:
    """A `subscribe` of several jobs as one message for each; any other message as it is."""
    if message["type"] != "subscribe" or "jobs" not in message:
        return [message]
    rest = {name: value for name, value in message.items() if name != "jobs"}
    return [rest | (job if isinstance(job, dict) else {"job": job}) for job in message["jobs"]]


class Server:
    """Accepts clients. New connections wait in `arrived` until the script expects them."""

    def __init__(self, clock: Clock, on_message, limits: dict):
        self._clock, self._on_message, self._limits = clock, on_message, limits
        self.arrived: list[Connection] = []
        self.refusals: list[dict] = []
        self.violations: list[str] = []
        self.attempts: list[float] = []
        self._open: list[Connection] = []

    async def start(self) -> None:
        self._server = await serve(
            self._serve, "127.0.0.1", 0, process_request=self._upgrade, select_subprotocol=self._subprotocol,
            ping_interval=None, compression=None, max_size=64 << 10, close_timeout=1)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        for connection in self._open:
            connection.socket.transport.abort()
        self._server.close()

    def _upgrade(self, socket, request):
        self.attempts.append(self._clock.seconds())
        if request.path != "/v1":
            self.violations.append(f"the WebSocket was opened at {request.path.split('?')[0]}, not at /v1")
        if self.refusals:
            refusal = self.refusals.pop(0)
            answer = socket.respond(http.HTTPStatus(refusal["status"]), "refused by the script\n")
            if "retryAfter" in refusal:
                answer.headers["Retry-After"] = str(refusal["retryAfter"])
            return answer
        return None

    def _subprotocol(self, _, offered):
        if "enroute.v1" not in offered:
            self.violations.append(f"the subprotocol enroute.v1 is missing: {offered}")
            return None
        return "enroute.v1"

    async def _serve(self, socket: ServerConnection) -> None:
        connection = Connection(socket, self._clock, self.violations, self._limits)
        self._open.append(connection)
        bearer = socket.request.headers.get("Authorization", "")
        if bearer.startswith("Bearer "):
            connection.credential = {"token": bearer.removeprefix("Bearer ")}
            self.arrived.append(connection)
        try:
            async for text in socket:
                message = connection.check(text)
                if message is None:
                    continue
                if connection.credential is None:
                    if message["type"] != "auth":
                        self.violations.append(f"the first message is not `auth` but `{message['type']}`")
                    connection.credential = {name: message[name] for name in ("token", "link") if name in message}
                    self.arrived.append(connection)
                    continue
                for one in single(message):
                    connection.inbox.append(one)
                    await self._on_message(connection, one)
        except ConnectionClosed:
            pass
        finally:
            connection.has_ended = True


__all__ = ["Broken", "Connection", "Server", "jobs_of"]
