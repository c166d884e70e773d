"""deploy/haproxy/layer4.cfg and layer7.cfg, unmodified, in front of three gateways."""

import re
import signal
import socket
import ssl
import subprocess
import time
from contextlib import ExitStack

import pytest

import bounds
from balancers import HAPROXY, LAYER_4, SLOTS, HAProxy, get, settings_of
from followers import following
from order_system import HOME, OrderSystem
from riders import Rider, now_ms
from stage import ROOT
from trips import to_the_door
from waiting import until
from websocket import Closed, WebSocket

LAYERS = pytest.mark.parametrize("layer", [4, 7])


@pytest.fixture
def balanced(make_site, start):
    """balanced(4, gateways=3, DRAIN_SECONDS=2): a site behind HAProxy at a layer. Upper-case arguments that start with
    BALANCER_ are for HAProxy, the others for the gateways."""

    def make(layer: int, gateways: int = 3, **settings):
        own = {name: settings.pop(name) for name in list(settings) if name.startswith("BALANCER_")}
        site = make_site(**(settings_of(layer) | {"gateways": gateways} | settings))
        return site, HAProxy(start, site, layer, site.folder / "balancer", **own)

    return make


def call(orders: OrderSystem) -> None:
    """A client that connects, signs in and leaves."""
    client = WebSocket(orders.site.url, orders.token("service", "orders"))
    client.hear(type="welcome")
    client.close()


@LAYERS
def test_the_shipped_file_is_valid(balanced, layer):
    _, haproxy = balanced(layer, gateways=1)
    assert "valid" in haproxy.check()
    assert "WARNING" not in haproxy.check()


@LAYERS
def test_clients_spread_over_all_gateways_and_a_location_reaches_every_one(balanced, layer):
    """least connections: nine followers and a rider are three or four sessions on each gateway."""
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
    for headers in ["", "X-Forwarded-For: 192.0.2.1\r\n", "X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\n"]:
        refused = WebSocket(site.url, token, source="127.0.0.2", headers=headers)
        with pytest.raises(Closed) as closed:
            refused.hear(type="welcome")
        assert closed.value.args == (4009,), headers
    WebSocket(site.url, token, source="127.0.0.3").hear(type="welcome")


@LAYERS
def test_too_many_connections_of_an_address_are_refused(balanced, layer):
    """At layer 7 HAProxy refuses them, because gateways exempt trusted proxies; at layer 4 the gateway does."""
    site, _ = balanced(
        layer, gateways=1, BALANCER_CONNECTIONS_PER_ADDRESS=2, LIMIT_CONNECTIONS_PER_ADDRESS=2 if layer == 4 else 1)
    token = OrderSystem(site).token("service", "orders")
    held = [WebSocket(site.url, token, source="127.0.0.2") for _ in range(2)]
    with pytest.raises((OSError, ConnectionError)):
        WebSocket(site.url, token, source="127.0.0.2")
    WebSocket(site.url, token, source="127.0.0.3").hear(type="welcome")
    assert [client.hear(type="welcome")["type"] for client in held] == ["welcome"] * 2


@LAYERS
def test_server_sent_events_arrive_while_the_response_is_open(balanced, layer):
    site, _ = balanced(layer)
    orders = OrderSystem(site)
    visit = orders.visit("on_the_way")
    rider = Rider(orders, visit).travel()
    client = ssl._create_unverified_context().wrap_socket(
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
def test_a_stopping_gateway_gets_no_clients_before_it_stops_accepting(balanced, layer):
    """Its health check fails first. Until HAProxy notices, it serves whoever arrives; its sessions stay open."""
    site, haproxy = balanced(layer, DRAIN_ACCEPT_SECONDS=60)
    orders = OrderSystem(site)
    before = [WebSocket(site.url, orders.token("service", "orders")) for _ in range(3)]
    for client in before:
        client.hear(type="welcome")
    site.gateways[0].process.child.send_signal(signal.SIGTERM)
    while haproxy.states()["g1a"] != "DOWN":
        call(orders)
    count = int(haproxy.rows()["g1a"]["stot"])
    for _ in range(6):
        call(orders)
    assert int(haproxy.rows()["g1a"]["stot"]) == count
    # It still accepts: nobody was refused in between.
    socket.create_connection(("127.0.0.1", site.gateways[0].port), timeout=bounds.CONNECT_SECONDS).close()
    assert site.gateways[0].manage("/readyz")[0] == 503
    for client in before:
        heard = len(client.heard)
        client.say({"type": "ping"})
        client.hear(after=heard, type="pong")


@LAYERS
def test_without_redis_every_gateway_stays_up_and_no_client_is_disconnected(balanced, layer):
    site, haproxy = balanced(layer)
    orders = OrderSystem(site)
    clients = [WebSocket(site.url, orders.token("service", "orders")) for _ in range(6)]
    site.redis.kill()
    for client in clients:
        client.hear(type="degraded")
    checks = {name: int(row["check_duration"] or 0) for name, row in haproxy.rows().items()}
    site.start_redis()
    for client in clients:
        client.hear(type="restored")
    rows = haproxy.rows()
    assert {name: row["status"] for name, row in rows.items()} == {"g1a": "UP", "g1b": "UP", "g2a": "UP", "g2b": "DOWN"}
    assert [rows[name]["chkdown"] for name in SLOTS[:3]] == ["0"] * 3, checks
    assert all(client.is_open for client in clients)


def test_a_tls_session_resumes_on_another_gateway_behind_layer_4(balanced, tmp_path):
    """The gateways share their ticket keys, and read the PROXY header before the handshake."""
    keys = tmp_path / "tickets.key"
    keys.write_bytes(bytes(range(80)))
    site, haproxy = balanced(4, TLS_TICKET_KEY_FILES=str(keys))
    session = tmp_path / "session.pem"

    def connect(*options: str) -> str:
        # -sess_out needs the ticket, which arrives after the handshake in TLS 1.3: with the answer to a request at the latest.
        return subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{site.port}", "-ign_eof", *options],
            input="GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", text=True,
            timeout=bounds.ANSWER_SECONDS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout

    for version in ["-tls1_3", "-tls1_2"]:
        first = connect(version, "-sess_out", str(session))
        assert "\nNew, TLSv1" in first and "HTTP/1.1 404" in first, first
        used = []
        for _ in range(3):
            before = {name: int(row["stot"]) for name, row in haproxy.rows().items()}
            again = connect(version, "-sess_in", str(session))
            assert "\nReused, TLSv1" in again and "HTTP/1.1 404" in again, again
            used += [name for name, row in haproxy.rows().items() if int(row["stot"]) > before[name]]
        assert set(used) == {"g1a", "g1b", "g2a"}, used


def test_heads_that_are_too_large_or_too_slow_are_refused_at_layer_7(balanced):
    site, _ = balanced(7, gateways=1)
    assert get(site.port, "/assets/none", is_secure=True, headers={"X-Large": "x" * 8000})[0] == 404
    assert get(site.port, "/assets/none", is_secure=True, headers={"X-Large": "x" * 8200})[0] == 431
    many = {f"X-{index}": "x" for index in range(100)}
    assert get(site.port, "/assets/none", is_secure=True, headers=many)[0] == 400
    slow = ssl._create_unverified_context().wrap_socket(
        socket.create_connection(("127.0.0.1", site.port), timeout=bounds.ANSWER_SECONDS))
    slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
    assert b" 408 " in slow.recv(1000)


@LAYERS
def test_a_reload_of_haproxy_refuses_nobody_and_disconnects_nobody(balanced, layer):
    """SIGUSR2 to the master is what `systemctl reload haproxy` sends. A new process takes over the listening socket."""
    site, haproxy = balanced(layer)
    orders = OrderSystem(site)
    follower = WebSocket(site.url, orders.token("service", "orders"))
    follower.hear(type="welcome")

    def process() -> str:
        # The statistics page names the process that answers.
        return re.search(r"pid = </b> (\d+)", get(haproxy.metrics, "/")[1])[1]

    before = process()
    haproxy.process.child.send_signal(signal.SIGUSR2)
    connected = 0
    while process() == before or connected < 20:
        call(orders)
        connected += 1
    heard = len(follower.heard)
    follower.say({"type": "ping"})
    follower.hear(after=heard, type="pong")


@LAYERS
def test_metrics_are_on_loopback_only(balanced, layer):
    _, haproxy = balanced(layer, gateways=1)
    assert 'haproxy_server_status{proxy="gateways",server="g1a",state="UP"} 1' in get(haproxy.metrics, "/metrics")[1]
    assert '"${BALANCER_METRICS-127.0.0.1:8405}"' in (HAPROXY / f"layer{layer}.cfg").read_text()


def test_a_gateway_that_requires_a_header_that_haproxy_does_not_send_says_so(balanced):
    """Symptom: every request is answered with 502, while all gateways are up."""
    site, haproxy = balanced(7, gateways=1, **LAYER_4)
    assert get(site.port, "/", is_secure=True)[0] == 502
    assert haproxy.states()["g1a"] == "UP"
    until(lambda: "it has no PROXY protocol header" in site.gateways[0].log, "the log line")
    line = next(line for line in site.gateways[0].log.splitlines() if "no PROXY protocol header" in line)
    assert "level=warning" in line and "peer=127.0.0.1" in line and "send-proxy-v2" in line, line


def test_a_gateway_that_does_not_expect_the_header_that_haproxy_sends_says_so(balanced):
    """Symptom: every TLS handshake fails, while all gateways are up."""
    site, haproxy = balanced(
        4, gateways=1, LISTEN_PROXY_PROTOCOL="off", LISTEN_PROXY_PROTOCOL_FROM=None)
    with pytest.raises(OSError):
        get(site.port, "/", is_secure=True)
    assert haproxy.states()["g1a"] == "UP"
    until(lambda: "which is not expected" in site.gateways[0].log, "the log line")
    line = next(line for line in site.gateways[0].log.splitlines() if "which is not expected" in line)
    assert "level=warning" in line and "remove send-proxy-v2" in line, line


def default_of(setting: str) -> int:
    text = (ROOT / "deploy/configuration.md").read_text()
    return int(re.search(rf"### `{setting}`.*?- Default: `(\d+)`", text, re.S)[1])


@LAYERS
def test_timeouts_suit_the_defaults_of_the_gateways(layer):
    text = (HAPROXY / f"layer{layer}.cfg").read_text()
    seconds = {name: int(value) for name, value in re.findall(r"^    timeout (\S+) (\d+)s", text, re.M)}
    ping = default_of("ENROUTE_LIMIT_PING_INTERVAL_SECONDS") + default_of("ENROUTE_LIMIT_PONG_TIMEOUT_SECONDS")
    for name in ["client", "server"] + (["tunnel"] if layer == 7 else []):
        assert 2 * ping <= seconds[name], name
    checks = re.search(r"inter (\d+)s fall (\d+)", text)
    assert int(checks[1]) * int(checks[2]) < default_of("ENROUTE_DRAIN_ACCEPT_SECONDS")
    assert "shutdown-sessions" not in re.sub(r"#.*", "", text) and "cookie" not in re.sub(r"#.*", "", text)


@pytest.mark.long
@LAYERS
def test_pings_keep_an_idle_client_connected_for_longer_than_the_timeout(balanced, layer):
    """At the real intervals: pings every 25 s keep a session open, and without them HAProxy closes it after 75 s."""
    site, _ = balanced(layer, gateways=1)
    silent_site, _ = balanced(layer, gateways=1, LIMIT_PING_INTERVAL_SECONDS=3600)
    pinged = WebSocket(site.url, OrderSystem(site).token("service", "orders"))
    silent = WebSocket(silent_site.url, OrderSystem(silent_site).token("service", "orders"))
    begun = time.monotonic()
    until(lambda: not silent.is_open, "HAProxy's timeout", seconds=150)
    assert time.monotonic() - begun > 70
    heard = len(pinged.heard)
    pinged.say({"type": "ping"})
    pinged.hear(after=heard, type="pong")
