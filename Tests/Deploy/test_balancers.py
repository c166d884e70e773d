"""What every shipped balancer configuration does for clients: deploy/haproxy and deploy/nginx, at layers 4 and 7, in front of
three gateways. What only one of them does is in test_haproxy.py and test_nginx.py."""

import signal
import subprocess
import time
from contextlib import ExitStack

import pytest

import bounds
from balancers import LAYER_4, HAProxy, Nginx, get
from callers import PausingFollower, StreamFollower, call, connect, still_answers
from followers import following
from order_system import HOME, OrderSystem, Refused
from riders import Rider, now_ms
from trips import to_the_door
from waiting import until
from websocket import Closed, WebSocket

BALANCERS = pytest.mark.parametrize("balancer", [HAProxy, Nginx])
LAYERS = pytest.mark.parametrize("layer", [4, 7])

# A gateway applies a revocation within a second.
REVOKED_WITHIN_MS = 1_000


@BALANCERS
@LAYERS
def test_clients_spread_over_all_gateways_and_a_location_reaches_every_one(behind, balancer, layer):
    """least connections: nine followers and a rider are three or four sessions on each gateway."""
    site, _ = behind(balancer, layer)
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


@BALANCERS
@LAYERS
def test_limits_per_address_count_the_client_and_not_the_balancer(behind, balancer, layer):
    """The gateway sees each client's own address. A client cannot choose one with a header of its own."""
    site, _ = behind(balancer, layer, gateways=1, LIMIT_SESSIONS_PER_ADDRESS=2)
    orders = OrderSystem(site)
    held = [connect(orders, source="127.0.0.2") for _ in range(2)]
    for headers in ["", "X-Forwarded-For: 192.0.2.1\r\n", "X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\n"]:
        refused = WebSocket(site.url, orders.token("service", "orders"), source="127.0.0.2", headers=headers)
        with pytest.raises(Closed) as closed:
            refused.hear(type="welcome")
        assert closed.value.args == (4009,), headers
    connect(orders, source="127.0.0.3")
    assert all(still_answers(client) for client in held)


@BALANCERS
@LAYERS
def test_server_sent_events_arrive_while_the_response_is_open(behind, balancer, layer):
    site, _ = behind(balancer, layer)
    orders = OrderSystem(site)
    visit = orders.visit("on_the_way")
    rider = Rider(orders, visit).travel()
    follower = StreamFollower(visit)
    begun = now_ms()
    for second in range(3):
        # Two fixes of the same millisecond would be one.
        sent = rider.report(to_the_door(HOME).at(second), at=begun + second, is_answered=True)
        follower.hear(f'"at":{sent.at},')
    follower.close()
    rider.close()


@BALANCERS
@LAYERS
def test_a_client_that_did_not_read_receives_no_location_from_after_its_revocation(behind, balancer, layer):
    """The balancer delivers what it received before. The gateway sends nothing more, and the connection ends."""
    site, _ = behind(balancer, layer)
    orders = OrderSystem(site)
    visit = orders.visit("on_the_way")
    rider = Rider(orders, visit).travel()
    follower = PausingFollower(visit)
    rider.drive(to_the_door(HOME), every=0.25)
    follower.hear(type="location")
    follower.pause()
    unread = len(rider.sent)
    until(lambda: len(rider.sent) > unread + 8, "locations that the client does not read")
    orders.revoke("users", visit.customer)
    revoked = now_ms()
    until(lambda: rider.sent[-1].at > revoked + 3 * REVOKED_WITHIN_MS, "locations from after the revocation")
    rider.close()
    follower.resume()
    with pytest.raises(Closed):
        follower.hear(type="anything that ends the wait")
    located = [message["at"] for message in follower.heard if message["type"] == "location"]
    assert located and max(located) <= revoked + REVOKED_WITHIN_MS, (located, revoked)


@BALANCERS
@LAYERS
def test_a_gateway_that_no_longer_accepts_is_skipped_without_an_error(behind, balancer, layer):
    """Before any health check: the balancer passes a refused connection to another gateway. No client notices."""
    site, _ = behind(balancer, layer, DRAIN_ACCEPT_SECONDS=0, DRAIN_SECONDS=0)
    orders = OrderSystem(site)
    site.gateways[0].process.child.send_signal(signal.SIGTERM)
    site.gateways[0].process.child.wait(bounds.END_SECONDS)
    for _ in range(12):
        call(orders)
    assert sum(gateway.metric("enroute_sessions_opened_total") for gateway in site.gateways[1:]) == 12


@BALANCERS
@LAYERS
def test_without_redis_no_client_is_disconnected_and_requests_still_reach_a_gateway(behind, balancer, layer):
    """503 is the gateways' own answer. A balancer that counted it as a failure would stop using all of them."""
    site, running = behind(balancer, layer)
    orders = OrderSystem(site)
    clients = [connect(orders) for _ in range(6)]
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
    assert running.failed_checks() == []
    assert all(client.is_open for client in clients)


@BALANCERS
def test_a_tls_session_resumes_on_another_gateway_behind_layer_4(behind, balancer, tmp_path):
    """The gateways share their ticket keys, and read the PROXY header before the handshake."""
    keys = tmp_path / "tickets.key"
    keys.write_bytes(bytes(range(80)))
    site, _ = behind(balancer, 4, TLS_TICKET_KEY_FILES=str(keys))
    session = tmp_path / "session.pem"

    def accepted() -> list[float]:
        return [gateway.metric("enroute_connections_accepted_total") for gateway in site.gateways]

    def request(*options: str) -> str:
        # -sess_out needs the ticket, which arrives after the handshake in TLS 1.3: with the answer to a request at the latest.
        return subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{site.port}", "-ign_eof", *options],
            input="GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", text=True,
            timeout=bounds.ANSWER_SECONDS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout

    for version in ["-tls1_3", "-tls1_2"]:
        first = request(version, "-sess_out", str(session))
        assert "\nNew, TLSv1" in first and "HTTP/1.1 404" in first, first
        before = accepted()
        for _ in range(3):
            again = request(version, "-sess_in", str(session))
            assert "\nReused, TLSv1" in again and "HTTP/1.1 404" in again, again
        assert [after - count for after, count in zip(accepted(), before)] == [1, 1, 1]


@BALANCERS
def test_a_gateway_that_requires_a_header_that_the_balancer_does_not_send_says_so(behind, balancer):
    """Symptom: every request is answered with 502, while health checks succeed."""
    site, running = behind(balancer, 7, gateways=1, **LAYER_4)
    assert get(site.port, "/", is_secure=True)[0] == 502
    assert running.failed_checks() == []
    line = mismatch(site, "it has no PROXY protocol header")
    assert "level=warning" in line and "peer=127.0.0.1" in line and "send-proxy-v2" in line, line


@BALANCERS
def test_a_gateway_that_does_not_expect_the_header_that_the_balancer_sends_says_so(behind, balancer):
    """Symptom: every TLS handshake fails, while health checks succeed."""
    site, running = behind(balancer, 4, gateways=1, LISTEN_PROXY_PROTOCOL="off", LISTEN_PROXY_PROTOCOL_FROM=None)
    with pytest.raises(OSError):
        get(site.port, "/", is_secure=True)
    assert running.failed_checks() == []
    line = mismatch(site, "which is not expected")
    assert "level=warning" in line and "remove send-proxy-v2" in line, line


def mismatch(site, text: str) -> str:
    """The line of the gateway's log with this text, when it is there."""
    return until(lambda: next((line for line in site.gateways[0].log.splitlines() if text in line), None), "the log line")


@pytest.mark.long
@BALANCERS
@LAYERS
def test_pings_keep_an_idle_client_connected_for_longer_than_the_timeout(behind, balancer, layer):
    """At the real intervals: pings every 25 s keep a session open, and without them the balancer closes it after 75 s."""
    site, _ = behind(balancer, layer, gateways=1)
    silent_site, _ = behind(balancer, layer, gateways=1, LIMIT_PING_INTERVAL_SECONDS=3600)
    pinged = WebSocket(site.url, OrderSystem(site).token("service", "orders"))
    silent = WebSocket(silent_site.url, OrderSystem(silent_site).token("service", "orders"))
    begun = time.monotonic()
    until(lambda: not silent.is_open, "the balancer's timeout", seconds=150)
    assert time.monotonic() - begun > 70
    assert still_answers(pinged)
