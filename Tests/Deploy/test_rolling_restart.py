"""deploy/haproxy/rolling-restart behind the shipped files of HAProxy: what clients notice when all gateways are replaced, and
what the script does when something is wrong."""

import fcntl
import http.server
import os
import pty
import re
import signal
import subprocess
import termios
import threading

import pytest

from balancers import HAPROXY, HAProxy, settings_of
from order_system import OrderSystem
from stage import Gateway
from traffic import Traffic
from waiting import until
from websocket import WebSocket

SHORT = {"DRAIN_ACCEPT_SECONDS": 4, "DRAIN_SECONDS": 3}
DEFAULT = {}


def expect_states(haproxy: HAProxy, **states: str) -> None:
    """One slow check shows as `UP 1/3` for a moment."""
    until(lambda: haproxy.states() == states, f"the states {states}")


class Services:
    """Stands in for systemd: starts a slot's gateway and returns when it accepts clients; sends SIGTERM and returns when it has
    ended. rolling-restart calls it with curl."""

    def __init__(self, slots: dict[str, Gateway]):
        self.calls: list[str] = []
        self.broken: set[str] = set()
        services = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                services.calls.append(self.path[1:])
                verb, slot = self.path[1:].split("/")
                if self.path[1:] in services.broken:
                    return self.send_error(500, "this unit fails")
                if verb == "start":
                    slots[slot].start()
                else:
                    slots[slot].process.child.send_signal(signal.SIGTERM)
                    slots[slot].process.child.wait(60)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_) -> None: ...

        # One thread for all requests: the kernel ends a child together with the thread that started it.
        self._server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()

    def arguments(self, *haproxies: HAProxy) -> list[str]:
        sockets = [word for haproxy in haproxies for word in ("--socket", f"UNIX-CONNECT:{haproxy.socket}")]
        curl = f'curl -fsS -m 120 -X POST "http://127.0.0.1:{self._server.server_address[1]}/'
        return [str(HAPROXY / "rolling-restart"), *sockets, "--wait", "60",
                "--start", f'{curl}start/$1"', "--stop", f'{curl}stop/$1"']


@pytest.fixture
def restartable(make_site, start):
    """restartable(7, DRAIN_SECONDS=3): a site of three gateways and a free slot, HAProxy, and the services."""
    services = []

    def make(layer: int, **settings):
        site = make_site(**(settings_of(layer) | {"gateways": 4} | settings))
        site.gateways[3].process.kill()
        haproxy = HAProxy(start, site, layer, site.folder / "balancer")
        services.append(Services(haproxy.slots))
        return site, haproxy, services[-1]

    yield make
    for service in services:
        service.close()


@pytest.mark.parametrize(("layer", "settings"), [
    (7, SHORT), pytest.param(4, SHORT, marks=pytest.mark.long), pytest.param(7, DEFAULT, marks=pytest.mark.long),
    pytest.param(4, DEFAULT, marks=pytest.mark.long),
])
def test_a_rolling_restart_moves_each_client_once_and_loses_nothing(restartable, layer, settings):
    """60 followers and 6 riders who report every second. Each reconnects once, sees a location at least every 3 s, and
    receives every status once, in order. No report of a rider is lost."""
    site, haproxy, services = restartable(layer, **settings)
    traffic = Traffic(OrderSystem(site))
    # These do not react to `goaway`, and do not answer the close frame.
    deaf = [WebSocket(site.url, traffic.orders.token("service", "orders")) for _ in range(3)]
    before = [gateway.process.child.pid for gateway in site.gateways[:3]]
    done = subprocess.run(services.arguments(haproxy), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    sessions = traffic.finish(lambda: [site.gateways[index].metric("enroute_sessions_open") for index in (3, 0, 1)])
    traffic.report(f"HAProxy, layer {layer}")

    assert re.findall(r"(\S+) replaces (\S+)", done.stdout) == [("g2b", "g1a"), ("g1a", "g1b"), ("g1b", "g2a")]
    expect_states(haproxy, g1a="UP", g1b="UP", g2a="DOWN", g2b="UP")
    assert [site.gateways[index].process.child.pid for index in (0, 1)] != before[:2]
    traffic.check_that_each_moved_once_and_nothing_was_lost()
    # Unlike after a restart in turn, no gateway is left without clients.
    assert min(sessions) >= len(traffic.clients) // 5, sessions
    assert [client.close_code for client in deaf] == [4000] * 3
    stops = [re.findall(r"msg=stopped connections=(\d+) sessions=(\d+)", gateway.log) for gateway in site.gateways]
    assert [len(stop) for stop in stops] == [1, 1, 1, 0]
    assert all(open_connections == "0" for stop in stops for open_connections, _ in stop)
    assert sum(int(sessions) for stop in stops for _, sessions in stop) == len(traffic.clients) + len(deaf)


def test_a_gateway_that_does_not_start_stops_nothing(restartable):
    """The script ends with an error before any gateway is stopped, and every gateway accepts clients as before."""
    site, haproxy, services = restartable(7, **SHORT)
    services.broken = {"start/g2b"}
    done = subprocess.run(services.arguments(haproxy), text=True, capture_output=True)
    assert done.returncode == 1 and "g2b was not started" in done.stderr
    assert services.calls == ["start/g2b", "stop/g2b"]
    expect_states(haproxy, g1a="UP", g1b="UP", g2a="UP", g2b="DOWN")


def test_when_the_second_gateway_does_not_start_the_others_get_clients_again(restartable, start):
    """On both of two HAProxies in front of the same gateways."""
    site, haproxy, services = restartable(7, **SHORT)
    other = HAProxy(start, site, 7, site.folder / "other")
    services.broken = {"start/g1a"}
    done = subprocess.run(services.arguments(haproxy, other), text=True, capture_output=True)
    assert done.returncode == 1 and "g1a was not started" in done.stderr
    assert services.calls == ["start/g2b", "stop/g1a", "start/g1a", "stop/g1a"]
    for balancer in (haproxy, other):
        expect_states(balancer, g1a="DOWN", g1b="UP", g2a="UP", g2b="UP")


def test_a_gateway_that_is_not_ready_in_time_is_stopped_and_gets_no_clients_later(restartable):
    """It waits for a Redis that does not answer. An error of `--stop` is only reported."""
    site, haproxy, services = restartable(7, **SHORT)
    site.gateways[3].start = lambda: None
    services.broken = {"stop/g2b"}
    done = subprocess.run([*services.arguments(haproxy), "--wait", "2"], text=True, capture_output=True)
    assert done.returncode == 1 and "g2b is not ready after 2 s" in done.stderr and "g2b was not stopped" in done.stderr
    assert services.calls == ["start/g2b", "stop/g2b"]
    expect_states(haproxy, g1a="UP", g1b="UP", g2a="UP", g2b="DOWN")


def test_when_the_terminal_is_lost_every_old_gateway_gets_clients_again(restartable):
    """A closed SSH connection while a gateway stops: SIGHUP, and no message can be written any longer."""
    site, haproxy, services = restartable(7, DRAIN_ACCEPT_SECONDS=4, DRAIN_SECONDS=3)
    terminal, other_end = pty.openpty()

    def begin():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        # Tests that nohup started ignore it, and so would the script.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    script = subprocess.Popen(
        services.arguments(haproxy), stdin=other_end, stdout=other_end, stderr=other_end, start_new_session=True,
        preexec_fn=begin)
    os.close(other_end)
    until(lambda: services.calls[-1:] == ["stop/g1a"], "the stop of the first gateway")
    assert haproxy.states()["g2a"] == "DRAIN"
    os.close(terminal)
    assert script.wait(60) == 130
    until(lambda: haproxy.states() == {"g1a": "DOWN", "g1b": "UP", "g2a": "UP", "g2b": "UP"}, "the old gateways")
    assert services.calls == ["start/g2b", "stop/g1a"]


def test_the_address_of_an_ipv6_machine_has_no_brackets(make_site, start):
    """`ssh "[::1]"` would look for a host of this name."""
    site = make_site(**(settings_of(7) | {"gateways": 2, "LISTEN_HOST": "::", "MANAGEMENT_HOST": "::",
                                          "LISTEN_TRUSTED_PROXIES": "::1"}))
    site.gateways[1].process.kill()
    haproxy = HAProxy(start, site, 7, site.folder / "balancer", hosts={"g1a": "[::1]", "g1b": "[::1]"})
    done = subprocess.run(
        [*Services(haproxy.slots).arguments(haproxy), "--start", 'echo "machine $2"; false'], text=True, capture_output=True)
    assert "machine ::1\n" in done.stdout


def test_without_a_free_slot_or_with_a_server_in_drain_the_script_changes_nothing(restartable):
    site, haproxy, services = restartable(7, **SHORT)
    site.gateways[3].start()
    until(lambda: haproxy.states()["g2b"] == "UP", "the fourth gateway")
    done = subprocess.run(services.arguments(haproxy), text=True, capture_output=True)
    assert done.returncode == 1 and "Add a slot" in done.stderr
    subprocess.run(["socat", "-", f"UNIX-CONNECT:{haproxy.socket}"], input="set server gateways/g1b state drain\n",
                   text=True, check=True, capture_output=True)
    done = subprocess.run(services.arguments(haproxy), text=True, capture_output=True)
    assert done.returncode == 1 and "g1b is in state DRAIN" in done.stderr
    assert services.calls == []


def test_a_dry_run_prints_the_plan_and_changes_nothing(restartable):
    _, haproxy, services = restartable(7, **SHORT)
    done = subprocess.run(services.arguments(haproxy) + ["--dry-run"], text=True, capture_output=True, check=True)
    assert re.findall(r"(\S+) replaces (\S+)", done.stdout) == [("g2b", "g1a"), ("g1a", "g1b"), ("g1b", "g2a")]
    assert services.calls == [] and haproxy.states()["g2b"] == "DOWN"


def test_a_gateway_that_is_not_ready_is_replaced_as_well(restartable):
    """It answers, so its slot is not free: an overloaded gateway, or one that waits for Redis."""
    site, haproxy, services = restartable(7, DRAIN_ACCEPT_SECONDS=60)
    site.gateways[1].process.child.send_signal(signal.SIGTERM)
    until(lambda: haproxy.states()["g1b"] == "NOLB", "the gateway's notice")
    done = subprocess.run(services.arguments(haproxy) + ["--dry-run"], text=True, capture_output=True, check=True)
    assert re.findall(r"(\S+) replaces (\S+)", done.stdout) == [("g2b", "g1a"), ("g1a", "g1b"), ("g1b", "g2a")]


def test_a_gateway_is_replaced_on_its_own_machine_if_that_has_a_free_slot(make_site, start):
    site = make_site(**(settings_of(7) | {"gateways": 4, "LISTEN_HOST": "0.0.0.0", "MANAGEMENT_HOST": "0.0.0.0"}))
    for gateway in (site.gateways[1], site.gateways[3]):
        gateway.process.kill()
    haproxy = HAProxy(start, site, 7, site.folder / "balancer", hosts={"g2a": "127.0.0.2", "g2b": "127.0.0.2"})
    done = subprocess.run(
        Services(haproxy.slots).arguments(haproxy) + ["--dry-run"], text=True, capture_output=True, check=True)
    assert re.findall(r"(\S+) replaces (\S+)", done.stdout) == [("g1b", "g1a"), ("g2b", "g2a")]
