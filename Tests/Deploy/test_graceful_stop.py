"""How one gateway stops, whatever stops it, and its log."""

import re
import signal
import time

import pytest

import bounds
from order_system import OrderSystem
from processes import Process
from stage import enroute
from waiting import until
from websocket import Closed, WebSocket


def messages(log: str) -> list[str]:
    return [one.strip('"') for one in re.findall(r'\bmsg=("[^"]*"|\S+)', log)]


def test_a_stop_is_three_lines_in_the_log_and_the_last_one_counts(make_site):
    site = make_site(LOG_LEVEL="info", DRAIN_SECONDS=1)
    gateway = site.gateways[0]
    clients = [WebSocket(site.url, OrderSystem(site).token("service", "orders")) for _ in range(3)]
    for client in clients:
        client.hear(type="welcome")
    gateway.process.child.send_signal(signal.SIGTERM)
    assert gateway.process.child.wait(bounds.END_SECONDS) == 0
    stop = [one for one in messages(gateway.log) if "drain" in one or "stop" in one]
    assert stop == ["draining; a second signal stops immediately",
                    "stopped accepting connections; asking clients to reconnect", "stopped"]
    assert "msg=stopped connections=0 sessions=3 " in gateway.log
    assert messages(gateway.log)[-1] == "stopped", gateway.log
    # It has removed itself from the list that operations see.
    assert site.redis_says("ZCARD", "gateways") == "0"


def test_clients_that_arrive_while_the_gateway_stops_are_served_and_moved_once(make_site):
    """During the whole accept period, however the client connected."""
    site = make_site(DRAIN_ACCEPT_SECONDS=3, DRAIN_SECONDS=1)
    gateway, orders = site.gateways[0], OrderSystem(site)
    gateway.process.child.send_signal(signal.SIGTERM)
    begun = time.monotonic()
    until(lambda: gateway.manage("/readyz")[0] == 503, "the gateway's notice")
    client = WebSocket(site.url, orders.token("service", "orders"))
    client.hear(type="welcome")
    with pytest.raises(Closed) as closed:
        client.hear(type="nothing")
    assert closed.value.args == (4000,)
    assert [message["type"] for message in client.heard] == ["welcome", "goaway"]
    assert time.monotonic() - begun > 3
    assert gateway.process.child.wait(bounds.END_SECONDS) == 0


def test_a_second_signal_stops_immediately(make_site):
    site = make_site(DRAIN_ACCEPT_SECONDS=600)
    gateway = site.gateways[0]
    client = WebSocket(site.url, OrderSystem(site).token("service", "orders"))
    client.hear(type="welcome")
    gateway.process.child.send_signal(signal.SIGTERM)
    until(lambda: gateway.manage("/readyz")[0] == 503, "the gateway's notice")
    gateway.process.child.send_signal(signal.SIGTERM)
    assert gateway.process.child.wait(bounds.END_SECONDS) == 128 + signal.SIGTERM
    assert messages(gateway.log)[-1] == "second signal received; stopping immediately"


def test_a_gateway_that_waits_for_redis_stops_at_the_first_signal(make_site, tmp_path):
    site = make_site(DRAIN_ACCEPT_SECONDS=600)
    site.redis.kill()
    process = Process("waiting", [str(enroute()), "serve", "--port", "0"], tmp_path / "waiting.log",
                      site.environment() | {"ENROUTE_MANAGEMENT_PORT": "0"})
    try:
        until(lambda: "waiting for Redis" in process.tail(), "the gateway's wait")
        process.child.send_signal(signal.SIGTERM)
        assert process.child.wait(bounds.END_SECONDS) == 0
        assert messages(process.tail())[-1] == "stopped before the gateway was ready"
    finally:
        process.end()
