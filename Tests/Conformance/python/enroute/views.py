"""What a follower shows for a job: snapshots and messages in, whole views out. This module has no sockets."""

from dataclasses import dataclass, replace

# In these tracking states the rider must not be drawn.
HIDDEN = ("paused", "arrived", "ended")


@dataclass(frozen=True)
class JobView:
    """A job as an application shows it. A view is never changed, only replaced by the next one."""

    job: str
    kind: str = ""
    status: str = ""
    status_at: int = 0
    steps: tuple = ()
    tracking: str = "waiting"
    reason: str | None = None
    text: str = ""
    position: dict | None = None
    eta: dict | None = None
    unavailable: str | None = None
    destination: dict | None = None
    vendor: str | None = None
    rider_card: dict | None = None
    display: dict | None = None
    travel_deadline: int | None = None
    ended: str | None = None


class JobState:
    """One followed job: its view, and the cursor that a later `subscribe` sends as `since`."""

    def __init__(self, job, since=None):
        self.view = JobView(job)
        self.since = since
        self._newest_location = 0

    def apply(self, message):
        """Applies a message of this job and returns the status events that it brought, oldest first."""
        act = getattr(self, "_" + str(message["type"]), None)
        return (act(message) if act else None) or []

    def _subscribed(self, message):
        snapshot = message["snapshot"]
        seen = self.since
        self.since = {"epoch": snapshot["epoch"], "id": snapshot["id"]}
        position = snapshot.get("position")
        self._newest_location = int(position["id"]) if position else 0
        self.view = self._visible(JobView(
            job=self.view.job, kind=snapshot["kind"], status=snapshot["status"], status_at=snapshot["statusAt"],
            steps=tuple((step["status"], step["state"]) for step in snapshot["steps"]), tracking=snapshot["tracking"],
            reason=snapshot.get("reason"), text=snapshot["text"], position=position, eta=snapshot.get("eta"),
            unavailable=snapshot.get("unavailable"), destination=snapshot.get("destination"),
            vendor=snapshot.get("vendor"), rider_card=snapshot.get("riderCard"), display=snapshot.get("display"),
            travel_deadline=snapshot.get("travelDeadline")))
        # Without our own cursor we have missed nothing.
        return list(snapshot.get("missed") or []) if seen else []

    _reset = _subscribed

    def _status(self, message):
        cursor = {"epoch": message["epoch"], "id": message["id"]}
        if cursor == self.since:
            return []
        self.since = cursor
        self.view = replace(self.view, status=message["status"], status_at=message["at"],
                            steps=stepped(self.view.steps, message["status"]))
        return [message]

    def _location(self, message):
        if int(message["id"]) > self._newest_location:
            self._newest_location = int(message["id"])
            self.view = self._visible(replace(self.view, position=message, unavailable=None))

    def _tracking(self, message):
        self.view = self._visible(replace(
            self.view, tracking=message["state"], reason=message.get("reason"), text=message["text"]))

    def _eta(self, message):
        self.view = self._visible(replace(self.view, eta={k: v for k, v in message.items() if k not in ("type", "job")}))

    def _unavailable(self, message):
        self.view = replace(self.view, unavailable=message["text"])

    def _ended(self, message):
        self.view = replace(self.view, ended=message["reason"], position=None, eta=None, rider_card=None)

    @staticmethod
    def _visible(view):
        return replace(view, position=None, eta=None) if view.tracking in HIDDEN else view


def stepped(steps, status):
    """Returns the steps after `status`: its own step is active, those before it are complete."""
    names = [name for name, _ in steps]
    if status in ("delivered", "completed"):
        return tuple((name, "complete") for name in names)
    if status == "cancelled":
        return tuple((name, state if state == "complete" else "cancelled") for name, state in steps)
    if status not in names:
        return steps
    active = names.index(status)
    return tuple((name, "complete" if index < active else "active" if index == active else "upcoming")
                 for index, name in enumerate(names))
