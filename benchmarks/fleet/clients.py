#!/usr/bin/env python3
"""Followers and riders that reconnect by the rules of enroute.js (Sources/WebAssets/web/enroute-timing.js), with the same
constants: random back-off, `goaway`, a heartbeat, and subscriptions that resume from the last status. As a program it tests that
the constants and delays are still those of enroute.js."""
import asyncio, os, random, re, time, unittest

from checker import PositionRecord, StatusRecord
from wire import ABNORMAL, Socket

FIRST_DELAY, LONGEST_DELAY, STABLE_AFTER = 3.0, 30.0, 10.0
SPREAD, SESSION_LIMIT_RETRY = 0.3, 40.0
PING_AFTER, PING_AFTER_EXPECTED, GIVE_UP_AFTER = 20.0, 10.0, 40.0
CONNECT_WITHIN, GOAWAY_GRACE, ASK_AGAIN_AFTER = 15.0, 2.0, 1.0
SESSION_LIMIT, FIRST_REFUSAL, LAST_REFUSAL = 4009, 4500, 4999
# A message that arrives this long after its time, in s, counts as an interruption from that time on.
LATE = 1.0
METERS_PER_DEGREE = 111_320


def reconnect_delay(failures, not_before, now):
    """`reconnectDelay` of enroute-timing.js, in s."""
    if not_before is not None:
        return max(0.0, not_before - now) + random.random() * SPREAD
    return random.random() * (FIRST_DELAY if failures == 0 else min(LONGEST_DELAY, 2.0 ** failures))


class Client:
    """One person with one connection. It is *live* while it is connected, subscribed or travelling, and not `degraded`."""
    is_follower = False

    def __init__(self, crowd, number, token):
        self.crowd, self.number, self.token = crowd, number, token
        # Every client has its own loopback address, so the gateways' shipped limits per address apply.
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
                # The silence started with the last message.
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


class Follower(Client):
    """Follows one job, and keeps a record of everything it received."""
    is_follower = True

    def __init__(self, crowd, number, token, job):
        super().__init__(crowd, number, token)
        self.job, self.epoch, self.seen, self.is_ready, self.tracking = job, None, None, False, None
        self.statuses, self.positions = StatusRecord(), PositionRecord()
        # Set by --sabotage: what to do with the second status, to prove that the checker notices.
        self.sabotage, self.status_count, self.held = None, 0, None

    @property
    def expects_messages(self):
        return self.tracking == "live"

    def signed_in(self):
        self.subscribe()

    def subscribe(self):
        if self.opened_at is None:
            return
        since = {"since": {"epoch": self.epoch, "id": self.seen}} if self.seen else {}
        self.socket.send({"type": "subscribe", "job": self.job, **since})

    def disconnected(self):
        self.is_ready = False

    def handle(self, kind, message):
        if kind == "location":
            if self.positions.location(int(message["id"]), message["at"]):
                self.crowd.record("backwards", self.number, "location")
            self.tracking = "live"
            self.arrived("location", message["at"])
        elif kind == "status":
            self.arrived("status", message["at"])
            self.status_count += 1
            for event in self.tampered(message):
                self.show(event)
        elif kind == "subscribed" or kind == "reset":
            self.snapshot(message["snapshot"], kind == "reset")
        elif kind == "tracking":
            self.tracking = message["state"]
        elif kind == "ended":
            self.crowd.record("error", f"ended: {message['reason']}")
        elif kind == "error":
            if message["replyTo"] == "subscribe" and message["retry"]:
                wait = message.get("retryInMs", 1000 * ASK_AGAIN_AFTER) / 1000
                self.crowd.record("refused", f"subscribe: {message['code']}")
                self.crowd.loop.call_later(wait, self.subscribe)
            else:
                self.crowd.record("error", f"{message['replyTo']}: {message['code']}")

    def show(self, event):
        self.statuses.shown(event["id"])
        self.seen, self.epoch = event["id"], event["epoch"]

    def snapshot(self, state, is_reset):
        position = state["position"]
        id, at = (int(position["id"]), position["at"]) if position else (0, 0)
        if is_reset:
            self.crowd.count("resets")
            self.statuses.reset(state["id"])
            if position and self.positions.reset(id, at):
                self.crowd.record("backwards", self.number, "reset")
        else:
            for event in state["missed"]:
                self.statuses.shown(event["id"])
                self.arrived(None, event["at"])
            self.crowd.count("resumed", len(state["missed"]))
            self.statuses.subscribed(state["id"])
            self.positions.snapshot(id, at)
        self.seen, self.epoch, self.tracking = state["id"], state["epoch"], state["tracking"]
        self.is_ready = True
        self.rise()

    def tampered(self, event):
        """Loses, repeats or delays the second status if sabotage is on."""
        if self.held is not None:
            held, self.held = self.held, None
            return [event, held]
        if self.sabotage is None or self.status_count != 2:
            return [event]
        if self.sabotage == "reordered":
            self.held = event
        return {"lost": [], "duplicated": [event, event], "reordered": []}[self.sabotage]


class Rider(Client):
    """Reports the position of one job at a steady rate, as long as its travel mode is on. Without a job it waits for one."""

    def __init__(self, crowd, number, token, job, interval):
        super().__init__(crowd, number, token)
        self.job, self.least_interval, self.interval = job, interval, interval
        self.is_ready, self.unanswered, self.seq, self.reports, self.due = False, False, 0, None, None
        self.began = time.time()

    @property
    def expects_messages(self):
        return self.unanswered

    def signed_in(self):
        if self.job is None:
            self.is_ready = True
            return self.rise()
        self.travel()

    def travel(self):
        if self.opened_at is not None:
            self.socket.send({"type": "travel", "job": self.job, "active": True})

    def disconnected(self):
        self.is_ready = self.unanswered = False
        if self.reports is not None:
            self.reports.cancel()
            self.reports = None

    def handle(self, kind, message):
        if kind == "ok" and message["replyTo"] == "travel":
            self.is_ready = True
            # The first report is at a random time, so that the reports of all riders are spread evenly. After a reconnect a
            # phone has a new reading immediately.
            is_first = self.due is None
            self.rise()
            self.plan(time.time() + random.random() * self.interval if is_first else time.time())
        elif kind == "ok" and message["replyTo"] == "location":
            self.unanswered = False
        elif kind == "rate":
            self.interval = max(self.least_interval, message["intervalSeconds"])
        elif kind == "error":
            self.unanswered = False
            if message["replyTo"] == "travel" and message["retry"]:
                self.crowd.record("refused", f"travel: {message['code']}")
                self.crowd.loop.call_later(message.get("retryInMs", 1000 * ASK_AGAIN_AFTER) / 1000, self.travel)
            else:
                self.crowd.record("error", f"{message['replyTo']}: {message['code']} {message.get('reason', '')}")

    def plan(self, due):
        self.due = due
        self.reports = self.crowd.loop.call_later(max(0.0, due - time.time()), self.report)

    def report(self):
        """Sends the reading of the time that was planned: a late generator does not hide latency."""
        self.seq += 1
        meters = 5 * (self.due - self.began)
        fix = {
            "at": int(self.due * 1000), "lat": round(41.9 + meters / METERS_PER_DEGREE, 7), "lon": 12.5, "acc": 5, "spd": 5,
            "hdg": 0}
        self.socket.send({"type": "location", "job": self.job, "seq": self.seq, "fixes": [fix]})
        self.unanswered = True
        self.crowd.count("reports")
        self.plan(self.due + self.interval)


class TimingTests(unittest.TestCase):
    FILE = f"{os.path.dirname(os.path.abspath(__file__))}/../../Sources/WebAssets/web/enroute-timing.js"
    NAMES = (
        "FIRST_DELAY", "LONGEST_DELAY", "STABLE_AFTER", "SPREAD", "SESSION_LIMIT_RETRY", "PING_AFTER", "PING_AFTER_EXPECTED",
        "GIVE_UP_AFTER", "CONNECT_WITHIN", "GOAWAY_GRACE")

    def test_constants_are_those_of_enroute_js(self):
        with open(self.FILE) as file:
            theirs = dict(re.findall(r"^export const (\w+) = ([\d_]+);", file.read(), re.M))
        for name in self.NAMES:
            self.assertEqual(int(theirs[name].replace("_", "")), 1000 * globals()[name], name)

    def test_delays_are_random_up_to_a_ceiling_that_doubles(self):
        for failures, ceiling in ((0, 3), (1, 2), (2, 4), (3, 8), (9, 30)):
            delays = [reconnect_delay(failures, None, 0) for _ in range(2000)]
            self.assertTrue(0 <= min(delays) < 0.05 * ceiling and 0.95 * ceiling < max(delays) <= ceiling, failures)

    def test_the_time_in_a_goaway_counts(self):
        delays = [reconnect_delay(5, 12.0, 10.0) for _ in range(100)]
        self.assertTrue(2 <= min(delays) and max(delays) <= 2 + SPREAD)


if __name__ == "__main__":
    unittest.main()
