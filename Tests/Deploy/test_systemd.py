"""The shipped units in a real systemd: users, start, readiness, reload, stop, watchdog, credentials, hardening."""

import os
import resource
import shutil
import signal
import time
from pathlib import Path

import pytest

import systemd_site
from systemd_machine import FrozenThread, Machine, cannot_run, unpack
from systemd_site import PASSWORD, PORTS, URLS, readiness, served_certificate

pytestmark = pytest.mark.skipif(bool(cannot_run()), reason=f"no systemd can be booted: {cannot_run()}")


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> Machine:
    """A machine with an installation, both Redis instances running."""
    folder = tmp_path_factory.mktemp("systemd")
    root = unpack(folder / "root")
    systemd_site.install(root)
    booted = Machine(root, folder / "console.log")
    try:
        # systemd-sysusers and systemd-tmpfiles ran when the machine booted.
        booted.run("systemctl enable --now enroute-redis@live enroute-redis@ledger")
        yield booted
    finally:
        booted.end()
        shutil.rmtree(root)


@pytest.fixture
def gateway(machine) -> Machine:
    """The gateway g1 runs, with the units as shipped when the test ends."""
    systemd_site.configure(machine.root, URLS)
    machine.run("systemctl start enroute@g1")
    yield machine
    stop(machine, "g1")


def stop(machine: Machine, name: str) -> None:
    machine.run(f"systemctl stop enroute@{name}; systemctl reset-failed enroute@{name}; true")
    shutil.rmtree(machine.root / f"etc/systemd/system/enroute@{name}.service.d", ignore_errors=True)
    machine.run("systemctl daemon-reload")


def test_users_and_access_rights_are_those_of_the_shipped_files(machine):
    owners = machine.run("stat -c '%U:%G %a %n' /etc/enroute /etc/enroute/enroute.env /etc/enroute/credentials "
                         "/etc/enroute-redis /etc/enroute-redis/live.acl /var/lib/enroute-redis/ledger").stdout
    assert owners.splitlines() == [
        "root:enroute 750 /etc/enroute", "root:enroute 640 /etc/enroute/enroute.env",
        "root:root 700 /etc/enroute/credentials", "root:enroute-redis 770 /etc/enroute-redis",
        "root:enroute-redis 640 /etc/enroute-redis/live.acl", "enroute-redis:enroute-redis 700 /var/lib/enroute-redis/ledger",
    ]


def test_both_roles_of_redis_run_with_their_own_configuration(machine):
    for role, port in (("live", 6379), ("ledger", 6380)):
        state, status = machine.show(f"enroute-redis@{role}", "ActiveState", "StatusText")
        assert (state, status) == ("active", "Ready to accept connections")
        command = f"redis-cli -p {port} --user admin --pass {PASSWORD} --no-auth-warning"
        assert machine.run(f"{command} config get appendonly").stdout.split()[1] == ("no" if role == "live" else "yes")
        assert machine.run(f"{command} set kept {role}").stdout == "OK\n"
    machine.run("systemctl restart enroute-redis@live enroute-redis@ledger")
    command = f"redis-cli --user admin --pass {PASSWORD} --no-auth-warning"
    assert machine.run(f"{command} -p 6379 get kept").stdout == "\n"
    assert machine.run(f"{command} -p 6380 get kept").stdout == "ledger\n"
    machine.run(f"{command} -p 6380 del kept")
    assert machine.run("ls -A /var/lib/enroute-redis/live").stdout == ""


def test_systemctl_start_returns_when_the_gateways_are_ready(machine):
    systemd_site.configure(machine.root, URLS)
    machine.run("systemctl start enroute@g1 enroute@g2")
    for name, (port, _) in PORTS.items():
        assert readiness(machine, name) == "200"
        assert machine.show(f"enroute@{name}", "StatusText") == [f"ready: listening on port {port}"]
    # A rolling restart: the second one is restarted when the first is ready again.
    machine.run("systemctl restart enroute@g1 && systemctl restart enroute@g2")
    assert [readiness(machine, name) for name in PORTS] == ["200", "200"]
    stop(machine, "g2")
    stop(machine, "g1")


def test_reload_serves_the_new_certificate_in_the_same_process(gateway):
    before = gateway.show("enroute@g1", "MainPID")
    serial = systemd_site.certificate(gateway.root)
    assert served_certificate(gateway, 8451) != serial
    gateway.run("systemctl reload enroute@g1")
    gateway.wait(lambda: served_certificate(gateway, 8451) == serial, "the new certificate is served")
    gateway.wait(lambda: gateway.show("enroute@g1", "ActiveState") == ["active"], "the reload has finished")
    assert gateway.show("enroute@g1", "MainPID", "StatusText") == before + ["ready: listening on port 8451"]


def test_a_stop_may_take_as_long_as_the_drain_settings_say(gateway):
    """Without EXTEND_TIMEOUT_USEC systemd would kill it after TimeoutStopSec."""
    stop(gateway, "g1")
    gateway.drop_in("enroute@g1.service", "[Service]\nTimeoutStopSec=1\nEnvironment=ENROUTE_DRAIN_ACCEPT_SECONDS=4\n")
    gateway.run("systemctl start enroute@g1")
    begun = time.monotonic()
    gateway.run("systemctl stop --no-block enroute@g1")
    gateway.wait(lambda: readiness(gateway, "g1") == "503", "/readyz fails")
    state, status = gateway.show("enroute@g1", "ActiveState", "StatusText")
    assert state == "deactivating" and status.startswith("stopping: clients are asked to reconnect")
    gateway.wait(lambda: gateway.show("enroute@g1", "ActiveState") != ["deactivating"], "the gateway has stopped")
    seconds = time.monotonic() - begun
    print(f"stopped after {seconds:.1f} s with TimeoutStopSec=1")
    assert gateway.show("enroute@g1", "Result", "ExecMainStatus") == ["success", "0"] and seconds > 3


def killed_by_watchdog(machine: Machine, before: str) -> bool:
    restarts, process, state = machine.show("enroute@g1", "NRestarts", "MainPID", "ActiveState")
    return int(restarts) > 0 and process not in ("0", before) and state == "active"


def with_short_watchdog(machine: Machine) -> str:
    stop(machine, "g1")
    machine.drop_in("enroute@g1.service", "[Service]\nWatchdogSec=2\nRestartSec=100ms\n")
    machine.run("systemctl start enroute@g1")
    return machine.show("enroute@g1", "MainPID")[0]


def test_a_frozen_gateway_is_killed_by_the_watchdog_and_started_again(gateway):
    before = with_short_watchdog(gateway)
    os.kill(gateway.outside(int(before)), signal.SIGSTOP)
    gateway.wait(lambda: killed_by_watchdog(gateway, before), "another process serves")
    assert "Watchdog timeout" in gateway.journal("enroute@g1")
    assert readiness(gateway, "g1") == "200"


def test_a_gateway_with_one_blocked_event_loop_is_killed_by_the_watchdog(gateway):
    """The other threads run: the gateway itself stops feeding the watchdog."""
    before = with_short_watchdog(gateway)
    timeouts = gateway.journal("enroute@g1").count("Watchdog timeout")
    fed = gateway.show("enroute@g1", "WatchdogTimestampMonotonic")
    gateway.wait(lambda: gateway.show("enroute@g1", "WatchdogTimestampMonotonic") != fed, "the watchdog is fed")
    frozen = FrozenThread(gateway.outside(int(before)), "NIO-ELT")
    try:
        gateway.wait(lambda: gateway.show("enroute@g1", "StatusText") == ["not ready: an event loop is blocked"],
                     "the status says why")
        gateway.wait(lambda: gateway.journal("enroute@g1").count("Watchdog timeout") > timeouts, "the watchdog acts")
    finally:
        frozen.thaw()
    gateway.wait(lambda: killed_by_watchdog(gateway, before), "another process serves")
    assert readiness(gateway, "g1") == "200"


def test_a_start_waits_for_redis_longer_than_its_timeout_and_then_succeeds(gateway):
    stop(gateway, "g1")
    gateway.drop_in("enroute@g1.service", "[Service]\nTimeoutStartSec=1\n")
    gateway.run("systemctl stop enroute-redis@ledger")
    gateway.run("systemctl start --no-block enroute@g1")
    gateway.wait(lambda: gateway.show("enroute@g1", "ActiveState") == ["activating"], "the gateway starts")
    begun = time.monotonic()
    gateway.wait(lambda: time.monotonic() - begun > 3 or gateway.show("enroute@g1", "ActiveState") != ["activating"],
                 "three times TimeoutStartSec have passed")
    assert gateway.show("enroute@g1", "ActiveState", "NRestarts", "StatusText") == [
        "activating", "0", "not ready: waiting for Redis, or for the clock"]
    gateway.run("systemctl start enroute-redis@ledger")
    gateway.wait(lambda: gateway.show("enroute@g1", "ActiveState") == ["active"], "the gateway serves")


def test_gateways_and_redis_start_after_the_clock_is_synchronized(machine):
    for unit in ("enroute@g1", "enroute-redis@live", "enroute-redis@ledger"):
        assert "time-sync.target" in machine.show(unit, "After")[0].split()


def test_a_wrong_configuration_fails_once_and_says_why(gateway):
    stop(gateway, "g1")
    systemd_site.configure(gateway.root, URLS + "ENROUTE_LISTEN_PROT=1\n")
    assert gateway.run("systemctl start enroute@g1", check=False).returncode != 0
    assert gateway.show("enroute@g1", "ActiveState", "NRestarts", "ExecMainStatus") == ["failed", "0", "78"]
    assert "ENROUTE_LISTEN_PROT is not a setting; did you mean ENROUTE_LISTEN_PORT?" in gateway.journal("enroute@g1")


@pytest.mark.parametrize("encrypted", [False, True])
def test_the_passwords_of_redis_can_be_credentials(gateway, encrypted):
    stop(gateway, "g1")
    systemd_site.configure(gateway.root, "")
    values = dict(line.split("=", 1) for line in URLS.splitlines())
    text = (systemd_site.TOP / "deploy/systemd/credentials.conf").read_text()
    for role in ("live", "ledger"):
        file = f"/etc/enroute/credentials/redis-{role}-url"
        gateway.write(file, values[f"ENROUTE_REDIS_{role.upper()}_URL"] + "\n", 0o600)
        if encrypted:
            gateway.run(f"systemd-creds encrypt --name=redis-{role}-url {file} {file}.cred && rm {file}")
            text = text.replace(f"LoadCredential=redis-{role}-url:{file}", f"LoadCredentialEncrypted=redis-{role}-url:{file}.cred")
            assert PASSWORD.encode() not in Path(f"{gateway.root}{file}.cred").read_bytes()
    gateway.drop_in("enroute@g1.service", text)
    gateway.run("systemctl start enroute@g1")
    assert readiness(gateway, "g1") == "200"
    environment = Path(f"/proc/{gateway.main_process('enroute@g1')}/environ").read_bytes()
    assert b"ENROUTE_REDIS_LIVE_URL_FILE=/run/credentials/enroute@g1.service/redis-live-url" in environment
    assert PASSWORD.encode() not in environment


def test_the_process_runs_with_the_restrictions_of_the_unit(gateway):
    process = gateway.main_process("enroute@g1")
    lines = dict(line.split(":\t", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines() if ":\t" in line)
    assert (lines["NoNewPrivs"], lines["Seccomp"]) == ("1", "2")
    assert {lines[name] for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {"0" * 16}
    mounts = [line.split() for line in Path(f"/proc/{process}/mounts").read_text().splitlines()]
    options = {mount[1]: mount[3].split(",") for mount in mounts}
    assert "ro" in options["/"] and "noexec" in options["/"] and "noexec" not in options["/usr/local/bin/enroute"]
    limits = {line[:25].strip(): line[26:].split()[:2] for line in Path(f"/proc/{process}/limits").read_text().splitlines()}
    # A machine inside of a machine cannot have more than that.
    descriptors = str(min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    assert (limits["Max open files"], limits["Max core file size"]) == ([descriptors] * 2, ["0", "0"])
    assert gateway.show("enroute@g1", "LimitNOFILE") == ["65536"]


def test_the_drop_in_of_the_guide_allows_a_port_below_1024(gateway):
    stop(gateway, "g1")
    guide = (systemd_site.TOP / "deploy/systemd/README.md").read_text()
    text = guide.split("A port below 1024")[1].split("```ini\n")[1].split("```")[0]
    port = "Environment=ENROUTE_LISTEN_PORT=443\nEnvironmentFile=\n"
    gateway.drop_in("enroute@g1.service", text + port)
    gateway.run("systemctl start enroute@g1")
    assert gateway.show("enroute@g1", "StatusText") == ["ready: listening on port 443"]


def test_the_journal_has_the_levels_of_log_lines(gateway):
    stop(gateway, "g1")
    lines = {priority: gateway.run(f"journalctl -u enroute@g1 -o cat --no-pager -p {priority}..{priority}").stdout
             for priority in ("notice", "info")}
    assert "level=notice msg=\"draining" in lines["notice"] and "level=info" not in lines["notice"]
    assert "level=info msg=listening" in lines["info"] and "<6>" not in lines["info"]


def test_sentinel_users_may_let_redis_write_its_configuration(machine):
    """README.md's drop-in: Sentinel makes Redis rewrite its file after a failover."""
    rewrite = f"redis-cli -p 6379 --user admin --pass {PASSWORD} --no-auth-warning config rewrite"
    assert "OK" not in machine.run(rewrite, check=False).stdout
    machine.drop_in("enroute-redis@live.service", "[Service]\nReadWritePaths=/etc/enroute-redis\n")
    # As at each boot.
    machine.run("systemd-tmpfiles --create && systemctl restart enroute-redis@live")
    assert machine.run(rewrite).stdout == "OK\n"
    assert machine.run(rewrite.replace("config rewrite", "acl save")).stdout == "OK\n"
    machine.run("systemctl restart enroute-redis@live")
