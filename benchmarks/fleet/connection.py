"""A client's connection to a gateway: signs in, detects a silence and reconnects by the rules of enroute.js (timing.py)."""
import asyncio, time

from timing import (
    CONNECT_WITHIN, FIRST_REFUSAL, GIVE_UP_AFTER, GOAWAY_GRACE, LAST_REFUSAL, PING_AFTER, PING_AFTER_EXPECTED, SESSION_LIMIT,
    SESSION_LIMIT_RETRY, STABLE_AFTER, reconnect_delay)
from wire import ABNORMAL, Socket

# A message that arrives this long after its time, in s, counts as an interruption from that time on.
LATE = 1.0


class Client:
    """One person with one connection. It is *live* while it is connected, subscribed or travelling, and not `degraded`."""
    is_follower = False

    def __init__(self, crowd, number, token):
        self.crowd, self.number, self.token = crowd, number, token
        # Every client has a loopback address of its own, so the gateways' limits for an address stay as they are shipped.
        self.source = (f"127.{1 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}", 0)
        self.socket = self.attempt = self.deadline = self.retry = None
        self.failures, self.not_before, self.opened_at = 0, None, None
        self.received_at, self.pinged_at = 0.0, None
        self.is_live, self.is_degraded, self.is_refused = False, False, False
        # When the client stopped being live, by the wall clock; None before it was live for the first time.
        self.down_since = None

    # Connecting

    def connect(self):
        self.retry = None
        self.socket = Socket(self)
        self.deadline = self.crowd.loop.call_later(CONNECT_WITHIN, self.lose, "no welcome in time")
        self.attempt = asyncio.create_task(self.dial(self.socket))

    async def dial(self, socket):
        try:
            host, port = self.crowd.address(self.number)
            await self.crowd.loop.create_connection(
                lambda: socket, host, port, local_addr=self.source, ssl=self.crowd.tls,
                server_hostname="localhost" if self.crowd.tls else None)
        except (OSError, asyncio.IncompleteReadError) as error:
            if socket is self.socket:
                self.closed(ABNORMAL, f"no connection: {type(error).__name__}")

    def opened(self):
        self.socket.send({"type": "auth", "token": self.token})

    def received(self, message):
        self.received_at, self.pinged_at = time.monotonic(), None
        kind = message["type"]
        if kind == "welcome":
            self.deadline.cancel()
            self.deadline, self.opened_at = None, self.received_at
            self.signed_in()
        elif kind == "degraded":
            self.crowd.count("degraded")
            self.is_degraded = True
            self.fall()
        elif kind == "restored":
            self.is_degraded = False
            if self.is_ready:
                self.rise()
        elif kind == "goaway":
            wait = message["retryInMs"] / 1000
            self.crowd.count("goaway")
            self.not_before = self.received_at + wait
            if self.deadline is None:
                self.deadline = self.crowd.loop.call_later(wait + GOAWAY_GRACE, self.socket.finish, 4000, "going away")
        else:
            self.handle(kind, message)

    # Losing the connection

    def lose(self, why):
        """Gives up a socket that may never report its end."""
        self.socket.abandon()
        self.attempt.cancel()
        self.closed(ABNORMAL, why)

    def closed(self, code, why):
        now = time.monotonic()
        self.socket = None
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
        if self.opened_at is None:
            self.crowd.record("refused", f"{code} {why}" if code != ABNORMAL else why)
        else:
            self.crowd.record("disconnected", self.number, self.is_follower, code if code != ABNORMAL else why)
            if now - self.opened_at >= STABLE_AFTER:
                self.failures = 0
        self.opened_at, self.is_degraded = None, False
        self.disconnected()
        self.fall()
        if FIRST_REFUSAL <= code <= LAST_REFUSAL:
            self.is_refused = True
            return self.crowd.record("error", f"refused with {code}")
        if code == SESSION_LIMIT:
            self.not_before = now + SESSION_LIMIT_RETRY
        delay = reconnect_delay(self.failures, self.not_before, now)
        self.failures += 1
        self.not_before = None
        self.retry = self.crowd.loop.call_later(delay, self.connect)

    def check(self, now):
        """The heartbeat, called once a second."""
        if self.opened_at is None:
            return
        ping_after = PING_AFTER_EXPECTED if self.expects_messages else PING_AFTER
        if self.pinged_at is not None:
            if now - self.pinged_at >= GIVE_UP_AFTER - ping_after:
                # The silence began with the last message.
                self.fall(time.time() - (now - self.received_at))
                self.socket.abandon()
                self.closed(ABNORMAL, "no answer to a ping")
        elif now - self.received_at >= ping_after:
            self.pinged_at = now
            self.socket.send({"type": "ping"})

    # Being live

    def rise(self):
        if self.is_degraded or self.is_live:
            return
        self.is_live = True
        if self.down_since is not None:
            self.crowd.interrupted(self, self.down_since, time.time(), "reconnect")

    def fall(self, since=None):
        if self.is_live:
            self.is_live, self.down_since = False, since or time.time()

    def arrived(self, kind, at_ms):
        """A message that was due at a time has arrived; `kind` is None if it was in a snapshot."""
        now = time.time()
        late = now - at_ms / 1000
        if kind is not None:
            self.crowd.arrived(kind, now, late)
        if late > LATE:
            self.crowd.interrupted(self, at_ms / 1000, now, "late")
