"""deploy/nginx/layer4.conf and layer7.conf in front of three gateways: the consequences of open-source nginx having no
health checks and learning from refused connections. test_balancers.py has what HAProxy does, too."""

import http.client
import re
import signal
import socket
import ssl

import pytest

import bounds
from balancers import NGINX, UNVERIFIED, Nginx, get, settings_of
from callers import call, connect, still_answers
from order_system import OrderSystem
from stage import Gateway
from traffic import Traffic
from waiting import until
from websocket import WebSocket

LAYERS = pytest.mark.parametrize("layer", [4, 7])


def opened(gateway: Gateway) -> float:
    """How many sessions have been opened on a gateway."""
    return gateway.metric("enroute_sessions_opened_total")


@LAYERS
def test_the_shipped_file_is_valid_and_only_marked_lines_differ(behind, layer):
    _, nginx = behind(Nginx, layer, gateways=1)
    assert "test is successful" in nginx.check() and "warn" not in nginx.check()
    shipped, used = (NGINX / nginx.file.name).read_text().splitlines(), nginx.file.read_text().splitlines()
    assert [line for line, other in zip(shipped, used) if line != other] == [
        line for line in shipped if line.partition("  # EDIT")[1]]


@LAYERS
def test_without_preparation_a_stopping_gateway_still_gets_clients_and_moves_them_later(behind, layer):
    """A drain without active checks: clients that arrive in the accept period are moved once it is over."""
    site, _ = behind(Nginx, layer, gateways=2, DRAIN_ACCEPT_SECONDS=3, DRAIN_SECONDS=1)
    orders = OrderSystem(site)
    site.gateways[0].process.child.send_signal(signal.SIGTERM)
    until(lambda: site.gateways[0].manage("/readyz")[0] == 503, "the gateway's notice")
    clients = [connect(orders) for _ in range(6)]
    until(lambda: sum(client.close_code == 4000 for client in clients) == 3, "the drain")
    assert sum(still_answers(client) for client in clients if client.close_code is None) == 3


@LAYERS
def test_a_gateway_marked_down_gets_no_clients_and_keeps_those_it_has(behind, layer):
    """How to drain a gateway by hand: `down` in gateways.conf, a reload, and then stop it. The reload disconnects nobody."""
    site, nginx = behind(Nginx, layer)
    orders = OrderSystem(site)
    clients = [connect(orders) for _ in range(6)]
    nginx.write_gateways(site.gateways[0])
    nginx.reload()
    before = opened(site.gateways[0])
    for _ in range(6):
        call(orders)
    assert opened(site.gateways[0]) == before == 2
    assert all(still_answers(client) for client in clients)


def test_large_and_slow_heads_and_many_connections_are_refused_at_layer_7(behind):
    site, _ = behind(Nginx, 7, gateways=1)
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


def test_ipv6_clients_are_counted_by_their_network_and_others_by_their_address(make_site, start):
    """Like HAProxy and the gateways. A header names the client here, because a test has one IPv6 address only."""
    site = make_site(**(settings_of(7) | {"gateways": 1}))
    Nginx(start, site, 7, site.folder / "balancer", changes={
        "        limit_conn addresses 200;":
            "        limit_conn addresses 2; set_real_ip_from 127.0.0.1; real_ip_header X-Client;"})
    orders = OrderSystem(site)
    path, token = f"/api/v1/jobs/{orders.visit().name}/events", orders.token("service", "orders")
    held = []

    def statuses(*clients: str) -> list[int]:
        """Of an event stream for each client, which stays open."""
        for client in clients:
            connection = http.client.HTTPSConnection("127.0.0.1", site.port, timeout=bounds.ANSWER_SECONDS, context=UNVERIFIED)
            connection.request("GET", path, headers={"X-Client": client, "Authorization": f"Bearer {token}"})
            held.append(connection.getresponse())
        return [answer.status for answer in held[-len(clients):]]

    assert statuses("2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1:a:b:c:d") == [200, 200, 429]
    assert statuses("2001:db8:0:2::1") == [200]
    assert statuses("192.0.2.1", "192.0.2.2", "::ffff:192.0.2.3", "192.0.2.1", "192.0.2.1") == [200, 200, 200, 200, 429]


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
def test_the_documented_rolling_restart_moves_each_client_once_and_loses_nothing(behind, layer):
    """README.md: a new gateway first, all old ones marked `down`, and then one after the other."""
    site, nginx = behind(Nginx, layer, DRAIN_ACCEPT_SECONDS=1, DRAIN_SECONDS=3)
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
