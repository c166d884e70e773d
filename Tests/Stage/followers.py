"""A follower of a job on its own socket, beside the browser: tests use it to wait until something from a rider's page
has arrived. Not for pages with a `Wire`, whose messages pass through the test that would wait here."""

import contextlib
from collections.abc import Iterator

from order_system import Job
from websocket import WebSocket

SMOOTHED = 2e-5     # degrees of latitude


class Follower:
    """A follower of one job, as its customer."""

    def __init__(self, job: Job):
        self.socket = WebSocket(job.orders.site.url, job.orders.token("customer", job.customer))
        self.socket.say({"type": "subscribe", "job": job.name})
        self._first = self.socket.hear(type="subscribed", job=job.name)["snapshot"]

    def hear_live(self) -> None:
        """Waits until the rider is visible."""
        if self._first["tracking"] != "live":
            self.socket.hear(type="tracking", state="live")

    def hear_place(self, lat: float, within: float = SMOOTHED) -> None:
        """Waits until the rider is at this latitude, or returns immediately if they already were. The gateway smooths the way,
        so two meters do not count.

        Args:
            within: degrees; more after a sudden movement, whose speed the gateway takes to last.
        """
        position, after = self._first["position"], 0
        while position is None or abs(position["lat"] - lat) > within:
            position = self.socket.hear(after=after, type="location")
            after = self.socket.heard.index(position) + 1


@contextlib.contextmanager
def following(job: Job) -> Iterator[Follower]:
    follower = Follower(job)
    try:
        yield follower
    finally:
        follower.socket.close()
