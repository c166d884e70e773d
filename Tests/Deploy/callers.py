"""Clients of the balancer tests: each signs in as the order system and follows nothing."""

import threading

from order_system import Job, OrderSystem
from websocket import WebSocket


class PausingFollower(WebSocket):
    """A customer that follows its job, and does not read between `pause` and `resume`."""

    def __init__(self, job: Job):
        self._reads = threading.Event()
        self._reads.set()
        super().__init__(job.orders.site.url, job.orders.token("customer", job.customer))
        self.say({"type": "subscribe", "job": job.name})
        self.hear(type="subscribed")

    def pause(self) -> None:
        """The frame that is being read is the last one."""
        self._reads.clear()

    def resume(self) -> None:
        self._reads.set()

    def _frame(self) -> tuple[int, bytes]:
        self._reads.wait()
        return super()._frame()


def connect(orders: OrderSystem, source: str | None = None) -> WebSocket:
    """A client that has signed in. `source`: its own address, for example 127.0.0.2."""
    client = WebSocket(orders.site.url, orders.token("service", "orders"), source=source)
    client.hear(type="welcome")
    return client


def call(orders: OrderSystem) -> None:
    """A client that connects, signs in and leaves."""
    connect(orders).close()


def still_answers(client: WebSocket) -> bool:
    """Whether its session works: the gateway answers a ping. Raises Closed when it does not."""
    heard = len(client.heard)
    client.say({"type": "ping"})
    return client.hear(after=heard, type="pong")["type"] == "pong"
