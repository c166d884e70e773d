"""deploy/nginx/layer4.conf and layer7.conf in front of three gateways. Open-source nginx checks no health: it finds out from a
refused connection."""

import re
import signal
import socket
import ssl
import time
from contextlib import ExitStack

import pytest

import bounds
from balancers import LAYER_4, NGINX, Nginx, UNVERIFIED, get, settings_of
from followers import following
from order_system import HOME, OrderSystem, Refused
from riders import Rider, now_ms
from stage import Gateway
from traffic import Traffic
from trips import to_the_door
from waiting import until
from websocket import Closed, WebSocket

LAYERS = pytest.mark.parametrize("layer", [4, 7])


@pytest.fixture
def balanced(make_site, start):
    """balanced(4, gateways=3, DRAIN_SECONDS=2): a site behind nginx at a layer."""

    def make(layer: int, gateways: int = 3, **settings):
        site = make_site(**(settings_of(layer) | {"gateways": gateways} | settings))
        return site, Nginx(start, site, layer, site.folder / "balancer")

    return make


def call(orders: OrderSystem) -> None:
    """A client that connects, signs in and leaves."""
    client = WebSocket(orders.site.url, orders.token("service", "orders"))
    client.hear(type="welcome")
    client.close()


def opened(gateway: Gateway) -> float:
    """How many sessions have been opened on a gateway."""
    return gateway.metric("enroute_sessions_opened_total")


def still_answers(client: WebSocket) -> bool:
    heard = len(client.heard)
    client.say({"type": "ping"})
    return client.hear(after=heard, type="pong")["type"] == "pong"


@LAYERS
def test_the_shipped_file_is_valid_and_only_marked_lines_differ(balanced, layer):
    _, nginx = balanced(layer, gateways=1)
    assert "test is successful" in nginx.check() and "warn" not in nginx.check()
    shipped, used = (NGINX / nginx.file.name).read_text().splitlines(), nginx.file.read_text().splitlines()
    assert [line for line, other in zip(shipped, used) if line != other] == [
        line for line in shipped if line.partition("  # EDIT")[1]]


@LAYERS
def test_clients_spread_over_all_gateways_and_a_location_reaches_every_one(balanced, layer):
    site, _ = balanced(layer)
    orders = OrderSystem(site)
    visit = orders.visit("on_the_way")
    rider = Rider(orders, visit).travel()
    with ExitStack() as stack:
        followers = [stack.enter_context(following(visit)) for _ in range(9)]
        sessions = [gateway.metric("enroute_sessions_open") for gateway in site.gateways]
        assert sum(sessions) == 10 and max(sessions) - min(sessions) <= 1, sessions
        sent = rider.report(to_the_door(HOME).at(0), is_answered=True)
        for follower in followers:
            follower.hear_place(round(sent.spot.lat, 6))
        rider.close()


@LAYERS
def test_limits_per_address_count_the_client_and_not_the_balancer(balanced, layer):
    """The gateway sees each client's own address. A client cannot choose one with a header of its own."""
    site, _ = balanced(layer, gateways=1, LIMIT_SESSIONS_PER_ADDRESS=2)
    token = OrderSystem(site).token("service", "orders")
    first = [WebSocket(site.url, token, source="127.0.0.2") for _ in range(2)]
    for client in first:
        client.hear(type="welcome")
    for headers in ["", "X-Forwarded-For: 192.0.2.1\r\n"]:
        refused = WebSocket(site.url, token, source="127.0.0.2", headers=headers)
        with pytest.raises(Closed) as closed:
            refused.hear(type="welcome")
        assert closed.value.args == (4009,), headers
    WebSocket(site.url, token, source="127.0.0.3").hear(type="welcome")


@LAYERS
def test_server_sent_events_arrive_while_the_response_is_open(balanced, layer):
    site, _ = balanced(layer)
    orders = OrderSystem(site)
    visit = orders.visit("on_the_way")
    rider = Rider(orders, visit).travel()
    client = UNVERIFIED.wrap_socket(
        socket.create_connection(("127.0.0.1", site.port), timeout=bounds.ANSWER_SECONDS))
    client.sendall((
        f"GET /api/v1/jobs/{visit.name}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
        f"{orders.token('customer', visit.customer)}\r\n\r\n").encode())
    events = client.makefile("rb")

    def hear(text: str) -> None:
        while line := events.readline().decode():
            if text in line:
                return
        raise AssertionError(f"the stream ended before {text}")

    hear("text/event-stream")
    hear('"type":"subscribed"')
    begun = now_ms()
    for second in range(3):
        # Two fixes of the same millisecond would be one.
        sent = rider.report(to_the_door(HOME).at(second), at=begun + second, is_answered=True)
        hear(f'"lat":{round(sent.spot.lat, 6)}')
    client.close()
    rider.close()


@LAYERS
def test_a_gateway_that_no_longer_accepts_is_skipped_without_an_error(balanced, layer):
    """Passive checks: nginx finds the refused connection and passes it to another gateway. No client notices."""
    site, _ = balanced(layer, DRAIN_ACCEPT_SECONDS=0, DRAIN_SECONDS=0)
    orders = OrderSystem(site)
    site.gateways[0].process.child.send_signal(signal.SIGTERM)
    site.gateways[0].process.child.wait(bounds.END_SECONDS)
    for _ in range(12):
        call(orders)
    assert opened(site.gateways[1]) + opened(site.gateways[2]) == 12


@LAYERS
def test_without_preparation_a_stopping_gateway_still_gets_clients_and_moves_them_later(balanced, layer):
    """What a drain means without active checks: whoever arrives in the accept period is moved once it is over."""
    site, _ = balanced(layer, gateways=2, DRAIN_ACCEPT_SECONDS=3, DRAIN_SECONDS=1)
    orders = OrderSystem(site)
    site.gateways[0].process.child.send_signal(signal.SIGTERM)
    until(lambda: site.gateways[0].manage("/readyz")[0] == 503, "the gateway's notice")
    clients = [WebSocket(site.url, orders.token("service", "orders")) for _ in range(6)]
    for client in clients:
        client.hear(type="welcome")
    until(lambda: sum(client.close_code == 4000 for client in clients) == 3, "the drain")
    assert sum(still_answers(client) for client in clients if client.close_code is None) == 3


@LAYERS
def test_a_gateway_marked_down_gets_no_clients_and_keeps_those_it_has(balanced, layer):
    """How to drain a gateway by hand: `down` in gateways.conf, a reload, and then stop it. The reload disconnects nobody."""
    site, nginx = balanced(layer)
    orders = OrderSystem(site)
    clients = [WebSocket(site.url, orders.token("service", "orders")) for _ in range(6)]
    for client in clients:
        client.hear(type="welcome")
    nginx.write_gateways(site.gateways[0])
    nginx.reload()
    before = opened(site.gateways[0])
    for _ in range(6):
        call(orders)
    assert opened(site.gateways[0]) == before == 2
    assert all(still_answers(client) for client in clients)


@LAYERS
def test_without_redis_no_client_is_disconnected_and_requests_still_reach_a_gateway(balanced, layer):
    """503 is the gateways' own answer. If nginx counted it as a failure, it would stop using all of them."""
    site, _ = balanced(layer)
    orders = OrderSystem(site)
    clients = [WebSocket(site.url, orders.token("service", "orders")) for _ in range(6)]
    site.redis.kill()
    for client in clients:
        client.hear(type="degraded")
    for _ in range(6):
        with pytest.raises(Refused) as refused:
            orders.ask("GET", "jobs/visit-1")
        assert refused.value.status == 503 and refused.value.problem["code"] == "unavailable"
    site.start_redis()
    for client in clients:
        client.hear(type="restored")
    call(orders)
    assert all(client.is_open for client in clients)


def test_large_and_slow_heads_and_many_connections_are_refused_at_layer_7(balanced):
    site, _ = balanced(7, gateways=1)
    assert get(site.port, "/assets/none", is_secure=True, headers={"X-Large": "x" * 7500})[0] == 404
    assert get(site.port, "/assets/none", is_secure=True, headers={"X-Large": "x" * 9000})[0] == 400
    both = {"X-Large": "x" * 5000, "X-Larger": "x" * 5000}
    assert get(site.port, "/assets/none", is_secure=True, headers=both)[0] == 431
    slow = UNVERIFIED.wrap_socket(socket.create_connection(("127.0.0.1", site.port), timeout=bounds.ANSWER_SECONDS))
    slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
    with pytest.raises((ConnectionResetError, ssl.SSLError)):
        if slow.recv(1000) == b"":
            raise ConnectionResetError
    token = OrderSystem(site).token("service", "orders")
    held = [WebSocket(site.url, token, source="127.0.0.2") for _ in range(200)]
    with pytest.raises(ConnectionError, match=" 429 "):
        WebSocket(site.url, token, source="127.0.0.2")
    WebSocket(site.url, token, source="127.0.0.3").hear(type="welcome")
    for client in held:
        client.cut()


def test_a_gateway_that_requires_a_header_that_nginx_does_not_send_says_so(balanced):
    """Symptom: every request is answered with 502."""
    site, _ = balanced(7, gateways=1, **LAYER_4)
    assert get(site.port, "/", is_secure=True)[0] == 502
    until(lambda: "it has no PROXY protocol header" in site.gateways[0].log, "the log line")


def test_a_gateway_that_does_not_expect_the_header_that_nginx_sends_says_so(balanced):
    """Symptom: every TLS handshake fails."""
    site, _ = balanced(4, gateways=1, LISTEN_PROXY_PROTOCOL="off", LISTEN_PROXY_PROTOCOL_FROM=None)
    with pytest.raises(OSError):
        get(site.port, "/", is_secure=True)
    until(lambda: "which is not expected" in site.gateways[0].log, "the log line")


@LAYERS
def test_timeouts_and_the_status_page_are_as_documented(layer):
    text = re.sub(r"#.*", "", (NGINX / f"layer{layer}.conf").read_text())
    assert "least_conn;" in text and "ip_hash" not in text and "http_503" not in text
    assert re.findall(r"listen (127\.0\.0\.1:\d+)", text) == ["127.0.0.1:8405"]
    names = ["proxy_timeout"] if layer == 4 else ["proxy_read_timeout", "proxy_send_timeout"]
    for name in names:
        assert re.search(rf"\b{name} 75s;", text), name


@pytest.mark.long
@LAYERS
def test_pings_keep_an_idle_client_connected_for_longer_than_the_timeout(balanced, layer):
    """At the real intervals: pings every 25 s keep a session open, and without them nginx closes it after 75 s."""
    site, _ = balanced(layer, gateways=1)
    silent_site, _ = balanced(layer, gateways=1, LIMIT_PING_INTERVAL_SECONDS=3600)
    pinged = WebSocket(site.url, OrderSystem(site).token("service", "orders"))
    silent = WebSocket(silent_site.url, OrderSystem(silent_site).token("service", "orders"))
    begun = time.monotonic()
    until(lambda: not silent.is_open, "nginx's timeout", seconds=150)
    assert time.monotonic() - begun > 70
    assert still_answers(pinged)


@pytest.mark.long
@LAYERS
def test_the_documented_rolling_restart_moves_each_client_once_and_loses_nothing(balanced, layer):
    """README.md: a new gateway first, all old ones marked `down`, and then one after the other."""
    site, nginx = balanced(layer, DRAIN_ACCEPT_SECONDS=1, DRAIN_SECONDS=3)
    traffic = Traffic(OrderSystem(site))
    old = list(site.gateways)
    site.start_gateway()
    nginx.write_gateways(*old)
    nginx.reload()
    for gateway in list(old):
        gateway.process.child.send_signal(signal.SIGTERM)
        assert gateway.process.child.wait(60) == 0
        gateway.start()
        until(lambda: gateway.manage("/readyz")[0] == 200, "the gateway")
        old.remove(gateway)
        nginx.write_gateways(*old)
        nginx.reload()
    traffic.finish()
    traffic.report(f"nginx, layer {layer}")
    traffic.check_that_each_moved_once_and_nothing_was_lost()
