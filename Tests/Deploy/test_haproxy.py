"""deploy/haproxy/layer4.cfg and layer7.cfg, unmodified unless a test changes lines, in front of three gateways: the features
that HAProxy has and nginx does not. test_balancers.py has what both do."""

import re
import signal
import socket

import pytest

import bounds
from balancers import HAPROXY, UNVERIFIED, HAProxy, get, settings_of
from callers import StreamFollower, call, connect, still_answers
from moving import GIVE_UP_AFTER, Crowd, MovingFollower, MovingRider
from order_system import HOME, OrderSystem
from riders import Rider, now_ms
from stage import ROOT
from trips import to_the_door
from waiting import until
from websocket import WebSocket

LAYERS = pytest.mark.parametrize("layer", [4, 7])

# The checks need 7 to 9 s, and enroute.js waits up to 3 s before it reconnects. On its own it notices after GIVE_UP_AFTER.
FROZEN_SECONDS = 15.0


@LAYERS
def test_the_shipped_file_is_valid(behind, layer):
    _, haproxy = behind(HAProxy, layer, gateways=1)
    assert "valid" in haproxy.check()
    assert "WARNING" not in haproxy.check()


@LAYERS
def test_too_many_connections_of_an_address_are_refused(behind, layer):
    """At layer 7 HAProxy refuses them, because gateways exempt trusted proxies; at layer 4 the gateway does."""
    site, _ = behind(
        HAProxy, layer, gateways=1, BALANCER_CONNECTIONS_PER_ADDRESS=2,
        LIMIT_CONNECTIONS_PER_ADDRESS=2 if layer == 4 else 1)
    orders = OrderSystem(site)
    held = [connect(orders, source="127.0.0.2") for _ in range(2)]
    with pytest.raises((OSError, ConnectionError)):
        connect(orders, source="127.0.0.2")
    connect(orders, source="127.0.0.3")
    assert all(still_answers(client) for client in held)


@LAYERS
def test_a_stopping_gateway_gets_no_clients_before_it_stops_accepting(behind, layer):
    """Its health check fails first. Until HAProxy notices, it serves whoever arrives; its sessions stay open."""
    site, haproxy = behind(HAProxy, layer, DRAIN_ACCEPT_SECONDS=60)
    orders = OrderSystem(site)
    before = [connect(orders) for _ in range(3)]
    site.gateways[0].process.child.send_signal(signal.SIGTERM)
    while haproxy.states()["g1a"] != "NOLB":
        call(orders)
    count = int(haproxy.rows()["g1a"]["stot"])
    for _ in range(6):
        call(orders)
    assert int(haproxy.rows()["g1a"]["stot"]) == count
    # It still accepts: nobody was refused in between.
    socket.create_connection(("127.0.0.1", site.gateways[0].port), timeout=bounds.CONNECT_SECONDS).close()
    assert site.gateways[0].manage("/readyz")[0] == 503
    # However long it takes, HAProxy closes no session of a gateway that answers its checks.
    until(lambda: int(haproxy.rows()["g1a"]["lastchg"]) > 6, "twice the time of three failed checks")
    assert haproxy.states()["g1a"] == "NOLB"
    assert all(still_answers(client) for client in before)


def test_a_haproxy_that_compresses_sends_server_sent_events_uncompressed_and_at_once(make_site, start):
    """It would retain the end of each event until the next one. `no-transform` in the response asks it not to compress."""
    site = make_site(**(settings_of(7) | {"gateways": 1}))
    HAProxy(start, site, 7, site.folder / "balancer", changes={
        "    default_backend gateways":
            "    default_backend gateways\n    compression algo gzip\n"
            "    compression type application/json text/event-stream"})
    orders = OrderSystem(site)
    visit = orders.visit("on_the_way")
    rider = Rider(orders, visit).travel()
    follower = StreamFollower(visit, headers="Accept-Encoding: gzip\r\n")
    begun = now_ms()
    for second in range(2):
        # Two fixes of the same millisecond would be one.
        sent = rider.report(to_the_door(HOME).at(second), at=begun + second, is_answered=True)
        follower.hear(f'"at":{sent.at},')
    follower.close()
    rider.close()


@LAYERS
def test_clients_of_a_frozen_gateway_are_disconnected_and_reconnect_to_others(behind, layer):
    """SIGSTOP: the kernel still accepts connections, and nothing answers. The clients of other gateways notice nothing."""
    site, haproxy = behind(HAProxy, layer)
    orders, crowd = OrderSystem(site), Crowd()
    visit = orders.visit("on_the_way")
    changing = orders.delivery("accepted", "preparing", customer=visit.customer)
    rider = MovingRider(orders, "rider", visit.rider, job=visit)
    followers = [MovingFollower(orders, "customer", visit.customer, travelled=visit, changing=changing) for _ in range(8)]
    clients = [rider, *followers]
    for client in clients:
        crowd.run(client.run())
    crowd.run(rider.drive())
    try:
        until(lambda: all(len(follower.located) > 2 for follower in followers), "the first locations")
        frozen = site.gateways[0]
        affected = frozen.metric("enroute_sessions_open")
        assert affected == 3
        frozen.process.freeze()
        until(lambda: sum(client.connections for client in clients) == len(clients) + affected, "the reconnects")
        assert haproxy.states()["g1a"] == "DOWN" and haproxy.states()["g1b"] == haproxy.states()["g2a"] == "UP"
        counts = [len(follower.located) for follower in followers]
        until(lambda: all(
            len(follower.located) > count for follower, count in zip(followers, counts)), "locations for all of them")
        assert max(follower.longest_gap for follower in followers) < FROZEN_SECONDS
        assert sorted(client.connections for client in clients) == [1] * 6 + [2] * 3
        frozen.process.thaw()
        until(lambda: haproxy.states()["g1a"] == "UP", "the gateway's return")
        until(lambda: frozen.metric("enroute_sessions_open") == 0, "the end of the sessions that HAProxy closed")
        call(orders)
        assert sum(client.connections for client in clients) == len(clients) + affected
    finally:
        frozen.process.thaw()
        crowd.close(clients)


def test_heads_that_are_too_large_or_too_slow_are_refused_at_layer_7(behind):
    site, _ = behind(HAProxy, 7, gateways=1)
    assert get(site.port, "/assets/none", is_secure=True, headers={"X-Large": "x" * 8000})[0] == 404
    assert get(site.port, "/assets/none", is_secure=True, headers={"X-Large": "x" * 8200})[0] == 431
    many = {f"X-{index}": "x" for index in range(100)}
    assert get(site.port, "/assets/none", is_secure=True, headers=many)[0] == 400
    slow = UNVERIFIED.wrap_socket(socket.create_connection(("127.0.0.1", site.port), timeout=bounds.ANSWER_SECONDS))
    slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
    assert b" 408 " in slow.recv(1000)


@LAYERS
def test_a_reload_refuses_nobody_and_disconnects_nobody(behind, layer):
    """SIGUSR2 to the master is what `systemctl reload haproxy` sends. A new process takes over the listening socket."""
    site, haproxy = behind(HAProxy, layer)
    orders = OrderSystem(site)
    client = connect(orders)

    def process() -> str:
        # The statistics page names the process that answers.
        return re.search(r"pid = </b> (\d+)", get(haproxy.metrics, "/")[1])[1]

    before = process()
    haproxy.process.child.send_signal(signal.SIGUSR2)
    connected = 0
    while process() == before or connected < 20:
        call(orders)
        connected += 1
    assert still_answers(client)


@LAYERS
def test_metrics_are_on_loopback_only(behind, layer):
    _, haproxy = behind(HAProxy, layer, gateways=1)
    assert 'haproxy_server_status{proxy="gateways",server="g1a",state="UP"} 1' in get(haproxy.metrics, "/metrics")[1]
    assert '"${BALANCER_METRICS-127.0.0.1:8405}"' in (HAPROXY / f"layer{layer}.cfg").read_text()


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
    interval, failures = map(int, re.search(r"inter (\d+)s fastinter 500ms fall (\d+)", text).groups())
    assert interval * failures < default_of("ENROUTE_DRAIN_ACCEPT_SECONDS")
    # A frozen gateway is found before its clients notice.
    assert interval + failures * seconds["check"] + (failures - 1) * 0.5 < GIVE_UP_AFTER
    assert "cookie" not in re.sub(r"#.*", "", text)
