"""The clients of a fleet: followers, which resume their subscription from the last status, and riders, which report positions.
Both reconnect by the rules of enroute.js (connection.py)."""
import random, time

from checker import PositionRecord, StatusRecord
from connection import Client
from timing import ASK_AGAIN_AFTER

METERS_PER_DEGREE = 111_320


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
