"""Who follows a job on a socket of its own, beside the browser: what a rider's page brought about is waited for by
hearing of it. Not for pages with a `Wire`: their messages pass through the test, which waits here."""

import contextlib
from collections.abc import Iterator

from order_system import Job
from websocket import WebSocket


class Follower:
    """Of one job, as its customer."""

    def __init__(self, job: Job):
        self.socket = WebSocket(job.orders.site.url, job.orders.token("customer", job.customer))
        self.socket.say({"type": "subscribe", "job": job.name})
        self._first = self.socket.hear(type="subscribed", job=job.name)["snapshot"]

    def hear_live(self) -> None:
        """The rider is seen."""
        if self._first["tracking"] != "live":
            self.socket.hear(type="tracking", state="live")

    def hear_place(self, lat: float) -> None:
        """The rider is at this latitude, or was when this began."""
        position = self._first["position"]
        if position is None or position["lat"] != lat:
            self.socket.hear(type="location", lat=lat)


@contextlib.contextmanager
def following(job: Job) -> Iterator[Follower]:
    follower = Follower(job)
    try:
        yield follower
    finally:
        follower.socket.close()
