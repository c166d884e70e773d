"""An installation as deploy/ describes it: both Redis roles with the shipped configurations and users, gateways, and a
`systemctl` that starts and stops them. Tests run the shell blocks of deploy/RUNBOOK.md on it."""

import contextlib
import fnmatch
import hashlib
import os
import re
import secrets
import subprocess
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from faults import Stage
from monitoring import Monitoring, free_port
from processes import DidNotStart, Process
from stage import ROOT, Gateway, Site, enroute

SECONDS = 120   # for one block, a limit for slow machines


class Server:
    """One redis-server of a role."""

    def __init__(self, folder: Path, role: str, password: str, name: str | None = None):
        self.role, self.password, self.port = role, password, free_port()
        self.name = name or f"redis-server@{role}"
        self.data = folder / (name or role)
        self.data.mkdir(parents=True)
        digest = hashlib.sha256(password.encode()).hexdigest()
        lists = (ROOT / f"deploy/redis/{role}.acl").read_text()
        self._list = folder / f"{name or role}.acl"
        self._list.write_text(re.sub(r"(?m)^(user (?!default)\S+ on)", rf"\1 #{digest}", lists))
        # A copy, because Sentinel lets a redis-server rewrite its configuration.
        self._config = folder / f"{name or role}.conf"
        self._config.write_text((ROOT / f"deploy/redis/{role}.conf").read_text())
        self.options: list[str] = []
        self.start()

    def start(self) -> None:
        self.launch()
        self.process.wait_until(lambda: self.says("PING", user="operations") == "PONG", "its answer to PING")

    def launch(self) -> None:
        """Starts the process, and does not wait until it has loaded its data."""
        self.process = Process(self.name, [
            "redis-server", str(self._config), "--port", str(self.port), "--aclfile",
            str(self._list), "--dir", str(self.data), *self.options], self.data.parent / f"{self.data.name}.log")

    def stop(self) -> None:
        self.process.end()

    def cli(self, user: str) -> str:
        return f"redis-cli -h 127.0.0.1 -p {self.port} --user {user} --pass {self.password} --no-auth-warning"

    def says(self, *command: str, user: str = "admin") -> str:
        return subprocess.run([*self.cli(user).split(), *command], capture_output=True, text=True).stdout.strip()

    def url(self, user: str) -> str:
        return f"redis://{user}:{self.password}@127.0.0.1:{self.port}"


class Installation:
    """Gateways, Redis and `systemctl`. Everything ends with the stage."""

    def __init__(self, stage: Stage, *, gateways: int = 2, redis: dict[str, str] | None = None, **settings):
        """`redis` replaces the URLs of roles, for Sentinel or a cluster."""
        self.stage, self.folder = stage, stage.folder
        self.password = secrets.token_hex(16)
        self.servers: dict[str, Server] = {}
        for role in ("live", "ledger"):
            if role not in (redis or {}):
                self.add_server(Server(self.folder, role, self.password))
        urls = {f"REDIS_{role.upper()}_URL": (redis or {}).get(role) or self.servers[role].url("enroute")
                for role in ("live", "ledger")}
        urls |= {f"REDIS_{role.upper()}_ADMIN_URL": server.url("operations")
                 for role, server in self.servers.items()}
        self.site: Site = stage.site(gateways=gateways, **(urls | settings))
        self.config = self.folder / "enroute.env"
        self.write_config()
        # The kernel ends a child when the thread that started it ends (processes.py): one thread starts all of them.
        manager = stage.enter_context(ThreadPoolExecutor(1))
        self._manager = stage.service(lambda request: manager.submit(self._manage, request).result())
        self._write_programs()

    def add_server(self, server: Server) -> Server:
        self.servers[server.data.name] = server
        self.stage.callback(server.stop)
        return server

    def write_config(self) -> None:
        values = {name: value for name, value in self.site.environment().items() if name.startswith("ENROUTE_")}
        self.config.write_text("".join(f"{name}={value}\n" for name, value in values.items()))

    def gateway(self, number: int) -> Gateway:
        return self.site.gateways[number - 1]

    # Programs of the blocks

    def _write_programs(self) -> None:
        (folder := self.folder / "bin").mkdir()
        (folder / "enroute").symlink_to(enroute())
        systemctl = folder / "systemctl"
        systemctl.write_text(
            "#!/bin/sh\n"
            f'exec curl -sS --fail-with-body -G --data-urlencode "verb=$1" --data-urlencode "unit=$2" '
            f"http://127.0.0.1:{self._manager.server_port}/\n")
        systemctl.chmod(0o755)

    def _manage(self, request: BaseHTTPRequestHandler) -> tuple[int, str]:
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query)
        verb, pattern = asked["verb"][0], asked["unit"][0]
        units = {f"enroute@gateway-{number}": gateway for number, gateway in enumerate(self.site.gateways, 1)}
        units |= {server.name: server for server in self.servers.values()}
        matching = [units[name] for name in units if fnmatch.fnmatch(name, pattern)]
        if not matching:
            return 404, f"Unit {pattern} not found.\n"
        for unit in matching:
            if verb == "reload":
                unit.process.child.send_signal(1)
            if verb in ("stop", "restart"):
                unit.process.end()
            try:
                if verb in ("start", "restart"):
                    unit.start()
            except DidNotStart:
                return 500, f"Job for {pattern} failed.\n"
        return 200, ""

    def run(self, block: str, **variables: str) -> str:
        """Pastes a block, and fails if one of its commands failed. Returns its output."""
        pasted = self.paste(block, **variables)
        assert pasted.failed == [], f"{pasted.failed} failed in\n{block}\n{pasted.output}"
        return pasted.output

    def paste(self, block: str, **variables: str) -> "Pasted":
        """Runs a shell block with the runbook's variables as an operator does, who pastes it into a shell: after a command
        that failed the next one runs, and `exit` closes the shell. Unset variables close it too: they are mistakes here."""
        # Test machines have no group `enroute`, and /etc is not ours.
        text = block.replace("-o root -g enroute ", "").replace("/etc/enroute", str(self.folder / "etc"))
        (self.folder / "etc").mkdir(exist_ok=True)
        given = {
            "GATEWAY": f"http://127.0.0.1:{self.gateway(1).management}", "CONFIG": str(self.config),
            "PROMETHEUS": f"http://127.0.0.1:{self.stage.monitoring.port}",
        } | {role.upper(): server.cli("operations") for role, server in self.servers.items()} | variables
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ENROUTE_")}
        (failures := self.folder / "failures").unlink(missing_ok=True)
        # The trap sees what `set -e` would stop at.
        script = f"trap 'failed+=(\"$BASH_COMMAND\")' ERR\n{text}\nprintf '%s\\n' \"${{failed[@]}}\" > '{failures}'"
        done = subprocess.run(
            ["bash", "-u", "-o", "pipefail", "-c", f"failed=()\n{script}"], text=True, timeout=SECONDS, cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=environment | given | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"})
        assert failures.exists(), f"the shell was closed by\n{text}\n{done.stdout}"
        return Pasted(done.stdout, [line for line in failures.read_text().splitlines() if line])


@dataclass(frozen=True)
class Pasted:
    """A shell's output for a block, and the commands that failed in it."""

    output: str
    failed: list[str]


@contextlib.contextmanager
def staged(monitoring: Monitoring, folder: Path, name: str):
    with Stage(monitoring, folder / "s", name) as stage:
        try:
            yield stage
        finally:
            monitoring.scrape(stage.job)
