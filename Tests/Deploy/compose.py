"""Reads deploy/container/compose.yaml as `docker compose` does, and starts its services without a container engine: the same
commands, settings, mounts, users, networks and health checks, in containers of this machine's programs (containers.py).

What takes the place of the images: this machine's redis-server, haproxy and prometheus, and the gateway that was built, in an
overlay over this machine's root. Grafana is not available here. Ports are not published."""

import ipaddress
import json
import os
import re
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import compose_spec
import yaml

import images
from containers import Container, Running
from networks import Networks
from stage import enroute

CLIENTS = 20
"""The last part of the address of the test's first client in every network."""

ENTRYPOINTS = {"prometheus": ["prometheus"]}
"""Of images whose service has only options as its command. Those of Redis and HAProxy execute the command as it is."""

ACCOUNTS = {"haproxy": "haproxy", "live": "redis", "ledger": "redis"}
"""The name of the user in the image."""


def interpolate(text: str, variables: dict[str, str]) -> str:
    """Replaces `${NAME}`, `${NAME:-default}` and `${NAME:?message}`."""
    def value(found: re.Match) -> str:
        name, operator, rest = found.groups()
        if variables.get(name):
            return variables[name]
        if operator == ":-":
            return rest
        raise ValueError(f"{name}: {rest}" if operator else f"{name} is not set")

    return re.sub(r"\$\{(\w+)(?:(:-|:\?)([^}]*))?\}", value, text)


def variables(path: Path) -> dict[str, str]:
    """The variables of a .env file."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def read(path: Path, values: dict[str, str]) -> dict:
    """The compose file with its variables replaced and its anchors merged."""
    return yaml.safe_load(interpolate(path.read_text(), values))


def validate(file: dict) -> None:
    """Raises ValueError for anything that the compose specification does not allow: unknown keys, values that are not
    of their form, and secrets, configurations, networks and volumes without a definition."""
    compose_spec.PyCompose.from_json(json.dumps(file)).validate()


def seconds(text: str) -> int:
    """A duration such as 20s."""
    number, unit = re.fullmatch(r"(\d+)(s|m)", text).groups()
    return int(number) * {"s": 1, "m": 60}[unit]


def check_command(test: list[str]) -> list[str]:
    """The command of a service's health check."""
    return test[1:] if test[0] == "CMD" else ["sh", "-c", test[1]]


@dataclass
class Service:
    """A service that was started."""

    name: str
    running: Running
    description: dict
    addresses: dict[str, str]
    """By network."""

    def wait_until_healthy(self) -> str:
        return self.running.wait_until_succeeds(check_command(self.description["healthcheck"]["test"]))

    def stop(self) -> int:
        """Stops it as the engine does, within its grace period, and returns the exit code."""
        return self.running.stop(signal.SIGTERM, seconds(self.description["stop_grace_period"]))


class ComposeSite:
    """The services of a compose file. `folder` is its folder, a copy of deploy/container, prepared."""

    def __init__(self, folder: Path, scratch: Path, without: list[str], **settings: dict[str, str]):
        """`settings` are environment variables by service, in place of those of the file."""
        self.folder, self.scratch, self._settings = folder, scratch, settings
        self.file = read(folder / "compose.yaml", variables(folder / ".env"))
        self.services: dict[str, Service] = {}
        self._clients = 0
        self.networks = Networks()
        self._subnets = self._made_networks()
        self._wanted = {name: made for name, made in self.file["services"].items() if name not in without}
        self._addresses = self._all_addresses()
        try:
            for name in self._wanted:
                self._start(name)
        except BaseException:
            self.close()
            raise

    def client(self, name: str, hosts: dict[str, str], mounts: list[tuple[Path, str, bool]]) -> Running:
        """A container for commands of the test, in all networks."""
        number = CLIENTS + self._clients
        self._clients += 1
        namespace = self.networks.add_namespace(name)
        for network, subnet in self._subnets.items():
            self.networks.connect(namespace, network, f"{subnet.network_address + number}/{subnet.prefixlen}")
        running = Container(
            name, ["sleep", "infinity"], namespace=namespace, hosts=hosts, mounts=mounts, is_read_only=False,
        ).run(self.scratch / name)
        running.wait_until_succeeds(["grep", "-q", "^sleep", "/proc/1/cmdline"])
        return running

    def close(self) -> None:
        for service in self.services.values():
            service.running.end()
        self.networks.close()

    def _made_networks(self) -> dict[str, ipaddress.IPv4Network]:
        subnets = {}
        for number, (name, made) in enumerate(self.file["networks"].items()):
            chosen = (made or {}).get("ipam", {}).get("config", [{}])[0].get("subnet", f"10.89.{200 + number}.0/24")
            subnets[name] = ipaddress.ip_network(chosen)
            self.networks.add_bridge(name)
        return subnets

    def _all_addresses(self) -> dict[str, dict[str, str]]:
        """The address of each service in each of its networks: the one that it requests, or a free one."""
        addresses = {}
        for number, (name, made) in enumerate(self._wanted.items()):
            wanted = made["networks"]
            wanted = wanted if isinstance(wanted, dict) else {network: None for network in wanted}
            addresses[name] = {
                network: (options or {}).get("ipv4_address") or str(self._subnets[network].network_address + 100 + number)
                for network, options in wanted.items()}
        return addresses

    def _hosts(self, name: str) -> dict[str, str]:
        """The services that this one can reach, by name."""
        ours = self._addresses[name]
        return {other: address for other, theirs in self._addresses.items() for network, address in theirs.items()
                if network in ours}

    def _start(self, name: str) -> None:
        """Starts a service after those it depends on."""
        made = self._wanted[name]
        if name in self.services:
            return
        for other, needs in made.get("depends_on", {}).items():
            self._start(other)
            if needs["condition"] == "service_healthy":
                self.services[other].wait_until_healthy()
        namespace = self.networks.add_namespace(name)
        for network, address in self._addresses[name].items():
            self.networks.connect(namespace, network, f"{address}/{self._subnets[network].prefixlen}")
        running = self._container(name, made, namespace).run(self.scratch / name)
        self.services[name] = Service(name, running, made, self._addresses[name])

    def _container(self, name: str, made: dict, namespace: str) -> Container:
        environment = {key: str(value) for key, value in made.get("environment", {}).items()}
        environment |= self._settings.get(name, {})
        command, mounts = made["command"], self._mounts(name, made)
        if "build" in made:
            # The image's own part: environment and entrypoint as its Dockerfile says.
            image = dict(images.instructions())
            key, _, value = image["ENV"].partition("=")
            environment = {key: value} | environment
            command = ["enroute", *command]
            mounts.append((enroute(), "/usr/local/bin/enroute", False))
        user, group = made["user"].split(":")
        return Container(
            name, ENTRYPOINTS.get(name, []) + command, environment=environment, user=(int(user), int(group)),
            groups=[int(extra) for extra in made["group_add"]], account=ACCOUNTS.get(name), mounts=mounts,
            tmpfs=[tuple(entry.partition(":")[::2]) for entry in made.get("tmpfs", [])],
            is_read_only=made["read_only"], hosts=self._hosts(name), namespace=namespace,
            files=made.get("ulimits", {}).get("nofile", 1024))

    def _mounts(self, name: str, made: dict) -> list[tuple[Path, str, bool]]:
        mounts = []
        for secret in made.get("secrets", []):
            mounts.append((self._file("secrets", secret), f"/run/secrets/{secret}", False))
        for config in made.get("configs", []):
            mounts.append((self._file("configs", config["source"]), config["target"], False))
        for volume in made.get("volumes", []):
            source, target, *options = volume.split(":")
            if source.startswith("."):
                mounts.append(((self.folder / source).resolve(), target, "ro" not in options))
            else:
                folder = self.scratch / f"volume-{source}"
                folder.mkdir(exist_ok=True)
                os.chown(folder, *map(int, made["user"].split(":")))
                mounts.append((folder, target, True))
        return mounts

    def _file(self, kind: str, name: str) -> Path:
        path = (self.folder / self.file[kind][name]["file"]).resolve()
        if not path.is_file():
            raise FileNotFoundError(f"{kind} {name}: {path}")
        return path


if __name__ == "__main__":
    checked = Path(sys.argv[1])
    validate(read(checked, variables(checked.parent / ".env.example") | {"SITE_GROUP": "10001"}))
