"""The balancers of deploy/, started from the shipped files in front of the gateways of a site. HAProxy's files are used as they
are, with environment variables; of nginx's, only the file with the addresses is another. For gateways below a path prefix both
files are changed as their README.md describes."""

import atexit
import csv
import http.client
import io
import os
import pwd
import re
import signal
import ssl
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import bounds
from processes import Process
from stage import ROOT, Gateway, Site, free_ports
from waiting import until

HAPROXY = ROOT / "deploy/haproxy"
NGINX = ROOT / "deploy/nginx"
SLOTS = ["g1a", "g1b", "g2a", "g2b"]
UNVERIFIED = ssl._create_unverified_context()

# The path prefix of README.md in both folders, and the lines that they change in the files for layer 7.
PREFIX = "/enroute"
HAPROXY_BELOW_PREFIX = {
    "    default_backend gateways": "    use_backend gateways if { path_beg /enroute/ }",
    "    balance leastconn": "    balance leastconn\n    http-request replace-path ^/enroute/(.*) /\\1",
}
NGINX_BELOW_PREFIX = {
    "        location / {": "        location /enroute/ {",
    "            proxy_pass http://gateways;": "            proxy_pass http://gateways/;",
}

# The gateway settings that the header of each file requires, and management for the health checks.
LAYER_4 = {"LISTEN_PROXY_PROTOCOL": "required", "LISTEN_PROXY_PROTOCOL_FROM": "127.0.0.1"}
LAYER_7 = {"LISTEN_TRUSTED_PROXIES": "127.0.0.1"}


def settings_of(layer: int) -> dict:
    """The arguments of `make_site` for gateways behind a balancer of this layer. They have the default timing."""
    common = {"DRAIN_ACCEPT_SECONDS": 5, "DRAIN_SECONDS": 10, "EVENT_LOOPS": 1, "OVERLOAD_LOOP_LAG_MS": 60_000}
    return common | ({"is_secure": True} | LAYER_4 if layer == 4 else LAYER_7)


def changed(lines: list[str], changes: dict[str, str]) -> list[str]:
    """The lines of a file, some of them replaced by others. Each must occur once."""
    assert all(lines.count(line) == 1 for line in changes), changes
    return [changes.get(line, line) for line in lines]


def get(port: int, path: str, is_secure: bool = False, headers: dict | None = None) -> tuple[int, str]:
    """The status and the body of a response. Raises OSError or HTTPException without one."""
    connection = (http.client.HTTPSConnection("127.0.0.1", port, timeout=bounds.ANSWER_SECONDS, context=UNVERIFIED)
                  if is_secure else http.client.HTTPConnection("127.0.0.1", port, timeout=bounds.ANSWER_SECONDS))
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")
    finally:
        connection.close()


class HAProxy:
    """deploy/haproxy/layer4.cfg or layer7.cfg, unmodified unless a test changes lines. The site's gateways are in its slots, in
    their order."""

    def __init__(
        self, start: Callable, site: Site, layer: int, folder: Path, hosts: dict[str, str] | None = None,
        has_prefix: bool = False, changes: dict[str, str] | None = None, **environment,
    ):
        """`hosts`: slots whose gateways are at another address than 127.0.0.1. `has_prefix`: the gateways are below PREFIX.
        `changes`: lines of the file that are replaced."""
        folder.mkdir(exist_ok=True)
        self.file = HAPROXY / f"layer{layer}.cfg"
        if has_prefix:
            site.prefix = PREFIX
        replaced = (changes or {}) | (HAPROXY_BELOW_PREFIX if has_prefix else {})
        if replaced:
            lines = changed(self.file.read_text().splitlines(), replaced)
            self.file = folder / "changed.cfg"
            self.file.write_text("\n".join(lines) + "\n")
        self.slots: dict[str, Gateway] = dict(zip(SLOTS, site.gateways))
        port, self.metrics, *unused = free_ports(2 + 2 * len(SLOTS))
        # Paths of sockets must be short.
        self.socket = Path(tempfile.gettempdir()) / f"haproxy-{port}.sock"
        atexit.register(self.socket.unlink, missing_ok=True)
        user = pwd.getpwuid(os.getuid()).pw_name
        certificate = folder / "balancer.pem"
        certificate.write_text(site.certificate().read_text() + (site.folder / "key.pem").read_text())
        self.environment = dict(os.environ) | {
            "BALANCER_USER": user, "BALANCER_GROUP": user, "BALANCER_SOCKET": str(self.socket),
            "BALANCER_BIND": f"127.0.0.1:{port}", "BALANCER_METRICS": f"127.0.0.1:{self.metrics}",
            "BALANCER_CERTIFICATE": str(certificate), "BALANCER_MAXCONN": "2000",
        }
        for index, slot in enumerate(SLOTS):
            gateway = self.slots.get(slot)
            service, management = (
                (gateway.port, gateway.management) if gateway else (unused[2 * index], unused[2 * index + 1]))
            name = f"GATEWAY_{slot[1:].upper()}"
            host = (hosts or {}).get(slot, "127.0.0.1")
            self.environment |= {name: f"{host}:{service}", f"{name}_MANAGEMENT": str(management)}
        self.environment |= {name: str(value) for name, value in environment.items()}
        self.process: Process = start("haproxy", ["haproxy", "-W", "-f", str(self.file)], self.environment)
        running = [slot for slot, gateway in self.slots.items() if gateway.process.is_running]
        self.process.wait_until(lambda: self.states() == {
            slot: "UP" if slot in running else "DOWN" for slot in SLOTS}, "its first health checks")
        site.front, site.terminates_tls = port, layer == 7

    def rows(self) -> dict[str, dict[str, str]]:
        """HAProxy's statistics of each slot, from its page on loopback."""
        try:
            text = get(self.metrics, "/;csv")[1]
        except (OSError, http.client.HTTPException):
            return {}
        rows = csv.DictReader(io.StringIO(text.removeprefix("# ")))
        return {row["svname"]: row for row in rows if row["pxname"] == "gateways" and row["svname"] in SLOTS}

    def states(self) -> dict[str, str]:
        """UP, NOLB (answers, but is not ready), DOWN, DRAIN or MAINT of each slot; `UP 1/3` while a check fails."""
        return {name: row["status"] for name, row in self.rows().items()}

    def failed_checks(self) -> list[str]:
        """The slots in use that are not up, or have been down in the meantime."""
        rows = self.rows()
        return [slot for slot in self.slots if rows[slot]["status"] != "UP" or rows[slot]["chkdown"] != "0"]

    def check(self) -> str:
        """The output of `haproxy -c`; raises CalledProcessError when the file is not valid."""
        return subprocess.run(
            ["haproxy", "-c", "-f", str(self.file)], env=self.environment, check=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


class Nginx:
    """deploy/nginx/layer4.conf or layer7.conf. Only what is marked EDIT differs from the shipped file, and gateways.conf."""

    def __init__(
        self, start: Callable, site: Site, layer: int, folder: Path, has_prefix: bool = False,
        changes: dict[str, str] | None = None,
    ):
        """`has_prefix`: the gateways are below PREFIX. `changes`: lines of the file that are replaced."""
        folder.mkdir(exist_ok=True)
        self.site, self.folder = site, folder
        port, self.metrics = free_ports(2)
        edits = {
            "user www-data;": f"user {pwd.getpwuid(os.getuid()).pw_name};",
            "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;", "listen 443;": f"listen 127.0.0.1:{port};",
            "listen 127.0.0.1:8405;": f"listen 127.0.0.1:{self.metrics};",
            "ssl_certificate /etc/nginx/enroute-chain.pem;": f"ssl_certificate {site.certificate()};",
            "ssl_certificate_key /etc/nginx/enroute-key.pem;": f"ssl_certificate_key {site.folder / 'key.pem'};",
        }
        self.file = folder / f"layer{layer}.conf"
        lines = (NGINX / self.file.name).read_text().splitlines()
        for index, line in enumerate(lines):
            shipped, mark, _ = line.partition("  # EDIT")
            if mark:
                lines[index] = shipped.replace(shipped.strip(), edits[shipped.strip()])
        lines = changed(lines, changes or {})
        if has_prefix:
            lines = changed(lines, NGINX_BELOW_PREFIX)
            site.prefix = PREFIX
        self.file.write_text("\n".join(lines) + "\n")
        self.write_gateways()
        self.process: Process = start("nginx", [
            "nginx", "-e", "stderr", "-c", str(self.file), "-g",
            f"daemon off; pid {folder}/nginx.pid; error_log stderr notice;"])
        self.process.wait_until(lambda: self._answers(), "its status page")
        self._workers = re.findall(r"start worker process (\d+)", self.process.log.read_text(errors="replace"))
        site.front, site.terminates_tls = port, layer == 7

    def write_gateways(self, *down: Gateway) -> None:
        """Writes gateways.conf with the site's gateways. `down`: those that get no new clients."""
        self.folder.joinpath("gateways.conf").write_text("".join(
            f"server 127.0.0.1:{gateway.port} max_fails=1 fail_timeout=5s{' down' if gateway in down else ''};\n"
            for gateway in self.site.gateways))

    def reload(self) -> None:
        """`nginx -s reload`; returns when new worker processes accept the connections."""
        read = self.process.log.stat().st_size
        self.process.child.send_signal(signal.SIGHUP)

        def log() -> str:
            return self.process.log.read_text(errors="replace")[read:]

        # Old processes stop to accept when they say so.
        until(lambda: "start worker process " in log() and log().count("gracefully shutting down") >= len(
            self._workers), "a reload")
        self._workers = re.findall(r"start worker process (\d+)", log())

    def failed_checks(self) -> list[str]:
        """None: open-source nginx checks no health."""
        return []

    def check(self) -> str:
        """The output of `nginx -t`; raises CalledProcessError when the file is not valid."""
        return subprocess.run(
            ["nginx", "-t", "-e", "stderr", "-c", str(self.file), "-g", f"pid {self.folder}/test.pid;"],
            check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout

    def _answers(self) -> bool:
        try:
            return get(self.metrics, "/status")[0] == 200
        except (OSError, http.client.HTTPException):
            return False
