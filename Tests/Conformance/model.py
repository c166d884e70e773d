"""The jobs of the fake gateway: their statuses as a log, positions, and the snapshots that answer a subscription."""

from __future__ import annotations

STEPS = {
    "service": ["assigned", "on_the_way", "work_in_progress", "completed"],
    "delivery": ["pending_vendor_acceptance", "accepted", "preparing", "ready_for_pickup", "in_transit", "delivered"],
}
HIDDEN = ("paused", "arrived", "ended")


class Job:
    """A job that exists. `now` returns the gateway's time in ms."""

    def __init__(self, name: str, now, kind: str = "service", epoch: str = "8k2p"):
        self.name, self.now, self.kind, self.epoch = name, now, kind, epoch
        self.tracking, self.position, self.eta, self.more = "waiting", None, None, {}
        self.log = []
        self._locations = 1_795_248_617_000_000
        self.add_status(STEPS[kind][0])

    def add_status(self, status: str) -> dict:
        """Appends a status event and returns its message. Events of a later ms have later ids, as in Redis."""
        before = self.log[-1]["id"] if self.log else None
        time = max(self.now(), int(before.split("-")[0]) + 1 if before else 0)
        event = {"type": "status", "job": self.name, "epoch": self.epoch, "prev": before or "", "id": f"{time}-0",
                 "status": status, "at": time, "received": time}
        self.log.append(event)
        return event

    def add_location(self, lat: float, lon: float, **more) -> dict:
        """Ids have 16 digits, more than a JSON number of some languages holds."""
        self._locations += 1_000_001
        self.tracking = "live"
        self.position = {"type": "location", "id": str(self._locations), "at": self.now(), "job": self.name,
                         "received": self.now(), "lat": lat, "lon": lon, "acc": 5, **more}
        return self.position

    def set_tracking(self, state: str, reason: str | None = None) -> dict:
        self.tracking = state
        if state in HIDDEN:
            self.position = self.eta = None
        return {"type": "tracking", "job": self.name, "state": state, "text": state} | ({"reason": reason} if reason else {})

    def restart_log(self, epoch: str) -> None:
        """The log was lost: only the newest status is left, in a log with another epoch."""
        self.epoch, self.log = epoch, [self.log[-1] | {"epoch": epoch, "prev": ""}]

    def forget_before_newest(self) -> None:
        """The log is trimmed: only the newest status is left, with the id and epoch that it had."""
        self.log = self.log[-1:]

    def answer(self, since: dict | None) -> dict:
        """The answer to a subscription: `subscribed` with what was missed, or `reset` if the log no longer contains it."""
        ids = [event["id"] for event in self.log]
        if since is None:
            return {"type": "subscribed", "job": self.name, "snapshot": self.snapshot([])}
        if since.get("epoch") != self.epoch or since.get("id") not in ids:
            return {"type": "reset", "job": self.name, "snapshot": self.snapshot([])}
        missed = self.log[ids.index(since["id"]) + 1:]
        events = [{name: value for name, value in event.items() if name not in ("type", "job")} for event in missed]
        return {"type": "subscribed", "job": self.name, "snapshot": self.snapshot(events)}

    def snapshot(self, missed: list) -> dict:
        newest = self.log[-1]
        return {
            "kind": self.kind, "status": newest["status"], "statusAt": newest["at"], "steps": self.steps,
            "epoch": self.epoch, "id": newest["id"], "tracking": self.tracking, "text": self.tracking,
            "position": self.position, "missed": missed, **({"positionAgeMs": 500} if self.position else {}),
            **({"eta": self.eta} if self.eta else {}), **self.more,
        }

    @property
    def steps(self) -> list:
        names, status = STEPS[self.kind], self.log[-1]["status"]
        if status not in names:
            return [{"status": name, "state": "cancelled"} for name in names]
        active = names.index(status)
        is_over = active == len(names) - 1
        return [{"status": name, "state": "complete" if index < active or is_over else
                 "active" if index == active else "upcoming"} for index, name in enumerate(names)]
