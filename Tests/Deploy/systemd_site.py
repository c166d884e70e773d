"""An installation in a machine with systemd: `make install`, the users, passwords, and one configuration for two gateways."""

import hashlib
import os
import secrets
import subprocess
from pathlib import Path

from stage import enroute
from systemd_machine import SWIFT, TOP, Machine

PASSWORD = secrets.token_hex(16)
PORTS = {"g1": (8451, 9471), "g2": (8452, 9472)}
URLS = f"""ENROUTE_REDIS_LIVE_URL=redis://enroute:{PASSWORD}@127.0.0.1:6379
ENROUTE_REDIS_LEDGER_URL=redis://enroute:{PASSWORD}@127.0.0.1:6380
"""
# A machine that is busy with other tests must not count as overloaded.
SETTINGS = """ENROUTE_TOKEN_PUBLIC_KEY_FILES=/etc/enroute/token-public.pem
ENROUTE_TLS_CERTIFICATE_FILE=/etc/enroute/tls-chain.pem
ENROUTE_TLS_KEY_FILE=/etc/enroute/tls-key.pem
ENROUTE_LISTEN_HOST=127.0.0.1
ENROUTE_DRAIN_ACCEPT_SECONDS=0
ENROUTE_DRAIN_SECONDS=1
ENROUTE_EVENT_LOOPS=2
ENROUTE_OVERLOAD_LOOP_LAG_MS=60000
"""


def make_install(destination: Path, *variables: str, goal: str = "install") -> subprocess.CompletedProcess:
    """`make install` of the program that the tests use."""
    return subprocess.run(
        ["make", "-s", "--no-print-directory", "-C", TOP, goal, f"ENROUTE={enroute()}", f"DESTDIR={destination}",
         *variables], capture_output=True, text=True, check=True)


def install(root: Path) -> None:
    """An installation with passwords, keys and a configuration for two gateways."""
    make_install(root)
    set_passwords(root)
    configure(root, URLS)
    for name, (port, management) in PORTS.items():
        (root / f"etc/enroute/{name}.env").write_text(
            f"ENROUTE_LISTEN_PORT={port}\nENROUTE_MANAGEMENT_PORT={management}\n")
    create_keys(root)
    allow_debug_build(root)


def set_passwords(root: Path) -> None:
    """Of the users of Redis."""
    shadow = hashlib.sha256(PASSWORD.encode()).hexdigest()
    for role in ("live", "ledger"):
        access = root / f"etc/enroute-redis/{role}.acl"
        text = access.read_text()
        for user in ("enroute", "operations", "admin"):
            text = text.replace(f"user {user} on", f"user {user} on #{shadow}")
        access.write_text(text)


def create_keys(root: Path) -> None:
    """The certificate of the gateways, and the keys of tokens."""
    certificate(root)
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
                    root / "root/token-private.pem"], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", root / "root/token-private.pem", "-pubout", "-out",
                    root / "etc/enroute/token-public.pem"], check=True, capture_output=True)


def allow_debug_build(root: Path) -> None:
    """Only a debug build needs the toolchain's libraries."""
    if SWIFT.is_dir():
        folder = root / "etc/systemd/system/enroute@.service.d"
        folder.mkdir(parents=True)
        (folder / "debug-build.conf").write_text(f"[Service]\nExecPaths={SWIFT}\n")


def configure(root: Path, urls: str) -> None:
    (root / "etc/enroute/enroute.env").write_text(SETTINGS + urls)


def certificate(root: Path) -> str:
    """Writes a new certificate, and returns its serial number. The group of the gateways may read it."""
    folder = root / "etc/enroute"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "tls-key.pem",
         "-out", folder / "tls-chain.pem"], check=True, capture_output=True)
    owner = folder.stat().st_gid
    for name in ("tls-key.pem", "tls-chain.pem"):
        (folder / name).chmod(0o640)
        os.chown(folder / name, 0, owner)
    return subprocess.run(["openssl", "x509", "-noout", "-serial", "-in", folder / "tls-chain.pem"], check=True,
                          capture_output=True, text=True).stdout


def served_certificate(machine: Machine, port: int) -> str:
    """The serial number of the certificate that a gateway presents."""
    return machine.run(f"openssl s_client -connect 127.0.0.1:{port} </dev/null 2>/dev/null | openssl x509 -noout -serial",
                       check=False).stdout


def readiness(machine: Machine, name: str) -> str:
    """The status code of /readyz; 000 if nothing listens."""
    return machine.run(f"curl -s -o /dev/null -w '%{{http_code}}' http://127.0.0.1:{PORTS[name][1]}/readyz",
                       check=False).stdout
