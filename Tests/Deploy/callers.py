"""Clients of the balancer tests: customers that follow a job, and others that sign in as the order system."""

import socket
import threading

import bounds
from balancers import UNVERIFIED
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


class StreamFollower:
    """A customer that follows its job by server-sent events, over TLS."""

    def __init__(self, job: Job, headers: str = ""):
        """`headers`: further lines of the request, for example "Accept-Encoding: gzip\\r\\n"."""
        orders = job.orders
        self._client = UNVERIFIED.wrap_socket(
            socket.create_connection(("127.0.0.1", orders.site.port), timeout=bounds.ANSWER_SECONDS))
        self._client.sendall((
            f"GET /api/v1/jobs/{job.name}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
            f"{orders.token('customer', job.customer)}\r\n{headers}\r\n").encode())
        self._lines = self._client.makefile("rb")
        self.hear("text/event-stream")
        self.hear('"type":"subscribed"')

    def hear(self, text: str) -> None:
        """Reads up to the line that contains `text`. Raises TimeoutError when it does not arrive."""
        while line := self._lines.readline().decode(errors="replace"):
            if text in line:
                return
        raise AssertionError(f"the stream ended before {text}")

    def close(self) -> None:
        self._client.close()


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
