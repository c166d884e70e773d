"""deploy/systemd/README.md, as a new operator follows it: a machine with the Debian package, and every command of the guide in
its order. Commands that build are not executed here; test_install.py covers them."""

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


def commands() -> list[str]:
    """The shell blocks of the guide without those that build."""
    blocks, block = [], None
    for line in (TOP / "deploy/systemd/README.md").read_text().splitlines():
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
    # Debian starts a redis-server with its package; the guide stops it.
    (root / "etc/systemd/system/redis-server.service").unlink()
    booted = Machine(root, tmp_path / "console.log")
    try:
        booted.run("dpkg --install /root/enroute.deb")
        yield booted
    finally:
        booted.end()
        shutil.rmtree(root)


def test_the_commands_of_the_guide_bring_up_gateways_and_redis_as_services(machine):
    steps = commands()
    assert len(steps) == 7, steps
    configure, redis, start, rolling, credentials, encrypt, check = steps

    systemd_site.create_keys(machine.root)
    machine.run(configure)
    systemd_site.set_passwords(machine.root)
    machine.run(redis)
    started = machine.run(start).stdout
    assert "Active: active (running)" in started and 'Status: "ready: listening on port 8443"' in started
    machine.run(rolling)
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

    # An update restarts nothing, and says what still runs the previous version.
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
