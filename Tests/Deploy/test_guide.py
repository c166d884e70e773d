"""deploy/systemd/README.md and deploy/haproxy/README.md, as a new operator follows them: a machine with the Debian package, and
every command of the guide in its order. Commands that build are not executed here; test_install.py covers them."""

import shutil

import pytest

import systemd_site
from systemd_machine import TOP, Machine, cannot_run, unpack
from systemd_site import PASSWORD, SETTINGS, URLS

pytestmark = pytest.mark.skipif(bool(cannot_run()), reason=f"no systemd can be booted: {cannot_run()}")

# The gateways' own ports are in the guide. Settings of the tests only speed things up.
EDITOR = f"""#!/bin/sh
cat > "$1" <<'END'
{SETTINGS}{URLS}END
"""


def commands(guide: str) -> list[str]:
    """The shell blocks of a guide without those that build."""
    blocks, block = [], None
    for line in (TOP / "deploy" / guide / "README.md").read_text().splitlines():
        if line.strip() == "```sh":
            block = []
        elif line.strip() == "```" and block is not None:
            blocks.append("\n".join(block))
            block = None
        elif block is not None:
            block.append(line)
    return [text for text in blocks if not text.startswith("make ")]


@pytest.fixture
def machine(tmp_path, package) -> Machine:
    root = unpack(tmp_path / "root")
    (root / "root/enroute.deb").write_bytes(package.read_bytes())
    for name, text in (("sudo", '#!/bin/sh\nexec env "$@"\n'), ("editor", EDITOR)):
        (root / "usr/local/bin" / name).write_text(text)
        (root / "usr/local/bin" / name).chmod(0o755)
    systemd_site.allow_debug_build(root)
    # Debian starts a redis-server with its package; the guide stops it. HAProxy is restarted by its guide.
    for unit in ("redis-server", "haproxy"):
        (root / f"etc/systemd/system/{unit}.service").unlink()
    booted = Machine(root, tmp_path / "console.log")
    try:
        booted.run("dpkg --install /root/enroute.deb")
        yield booted
    finally:
        booted.end()
        shutil.rmtree(root)


def test_the_commands_of_the_guide_bring_up_gateways_and_redis_as_services(machine):
    steps = commands("systemd")
    assert len(steps) == 9, steps
    upgrade, configure, redis, start, rolling, clock, credentials, encrypt, check = steps

    systemd_site.create_keys(machine.root)
    machine.run(configure)
    systemd_site.set_passwords(machine.root)
    machine.run(redis)
    started = machine.run(start).stdout
    assert "Active: active (running)" in started and 'Status: "ready: listening on port 8443"' in started
    machine.run(rolling)
    machine.run(clock)
    machine.run(f"mkdir .build-deploy && cp /root/enroute.deb .build-deploy/enroute_1.deb && {upgrade}")
    for port in (9464, 9465):
        assert machine.run(f"curl -sf http://127.0.0.1:{port}/readyz").stdout == "ready\n"

    # The passwords move from the configuration to credentials.
    systemd_site.configure(machine.root, "")
    machine.run(f"PASSWORD={PASSWORD}\n{credentials}")
    machine.run("systemctl restart enroute@g1 && systemctl restart enroute@g2")
    assert machine.run("curl -sf http://127.0.0.1:9465/readyz").stdout == "ready\n"
    assert "errors: 0" in machine.run(check).stdout
    machine.run(encrypt)
    sealed = (machine.root / "etc/enroute/credentials/redis-live-url.cred").read_bytes()
    assert PASSWORD.encode() not in sealed

    # An update restarts nothing, and prints what still runs the previous version.
    before = machine.show("enroute@g1", "MainPID")
    updated = machine.run("dpkg --install /root/enroute.deb")
    assert "enroute@g1.service still runs version" in updated.stderr
    assert machine.show("enroute@g1", "MainPID") == before
    # Removing the package stops the services, and keeps the configuration.
    machine.run("dpkg --remove enroute")
    assert [machine.show(unit, "ActiveState") for unit in ("enroute@g1", "enroute-redis@live")] == [["inactive"]] * 2
    assert (machine.root / "etc/enroute/g2.env").exists()
    machine.run("dpkg --purge enroute")
    assert not (machine.root / "etc/enroute").exists() and not list((machine.root / "etc/systemd/system").rglob("enroute*@g*"))
    assert list((machine.root / "var/lib/enroute-redis/ledger").iterdir())


def test_the_commands_of_haproxys_guide_start_it_drain_a_gateway_and_restart_all(machine):
    """At layer 4, with Debian's unit of HAProxy, and with the default commands of rolling-restart: systemctl."""
    check, drain, rolling, elsewhere = commands("haproxy")
    assert "ssh" in elsewhere                                              # needs other machines
    systemd_site.create_keys(machine.root)
    systemd_site.configure(machine.root, f"{URLS}ENROUTE_LISTEN_PROXY_PROTOCOL=required\n"
                           "ENROUTE_LISTEN_PROXY_PROTOCOL_FROM=127.0.0.1\n")
    systemd_site.set_passwords(machine.root)
    machine.write("/etc/enroute/g1b.env", "ENROUTE_LISTEN_PORT=8444\nENROUTE_MANAGEMENT_PORT=9465\n")
    machine.write("/etc/default/haproxy", "GATEWAY_1A=127.0.0.1:8443\nGATEWAY_1B=127.0.0.1:8444\nBALANCER_MAXCONN=200\n")
    machine.run("systemd-tmpfiles --create; systemctl disable --now redis-server && "
                "systemctl enable --now enroute-redis@live enroute-redis@ledger enroute@g1a")
    machine.run("cp /usr/share/enroute/haproxy/layer4.cfg /etc/haproxy/haproxy.cfg")

    assert "haproxy_server_status" in machine.run(check).stdout

    def serves(slot: str) -> None:
        """Waits until only this slot is up, and a client reaches its gateway."""
        up = 'curl -sf http://127.0.0.1:8405/metrics | grep \'server_status.*state="UP"} 1\' | grep -o \'server="[^"]*"\''
        machine.wait(lambda: machine.run(up, check=False).stdout == f'server="{slot}"\n', f"only {slot} is up")
        assert machine.run("curl -skf https://127.0.0.1/openapi.json").stdout.startswith("{")

    serves("g1a")
    machine.run(drain)
    assert machine.show("enroute@g1a", "ActiveState") == ["inactive"]
    machine.run("systemctl start enroute@g1a")
    serves("g1a")
    assert "g1b replaces g1a" in machine.run(f"cd /usr/share/enroute/haproxy\n{rolling}").stdout
    serves("g1b")
    assert machine.run("systemctl is-enabled enroute@g1a enroute@g1b", check=False).stdout.split() == ["disabled", "enabled"]
