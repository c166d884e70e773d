"""Clients of the balancer tests: each signs in as the order system and follows nothing."""

from order_system import OrderSystem
from websocket import WebSocket


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
