"""Networks for containers: bridges in a network namespace of their own, to which containers and the test itself connect.
Nothing leaves these namespaces. Needs root."""

import os
import secrets
import subprocess
from pathlib import Path

PREFIX = "enroute-"
"""Of names in /run/netns; the id of the test's process follows."""


def ip(*words: str, namespace: str | None = None) -> None:
    prefix = ["ip", "-n", namespace] if namespace else ["ip"]
    subprocess.run([*prefix, *words], check=True, capture_output=True, text=True)


class Networks:
    """Bridges by name, and the namespaces that are attached to them."""

    def __init__(self):
        self._remove_left_over()
        self._switch = f"{PREFIX}{os.getpid()}-{secrets.token_hex(2)}"
        self._namespaces: list[str] = []
        self._links = 0
        self.add_namespace("")

    @staticmethod
    def _remove_left_over() -> None:
        """Removes the namespaces of tests that were killed."""
        listed = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout
        for line in listed.splitlines():
            name = line.split()[0]
            if name.startswith(PREFIX) and not Path(f"/proc/{name.removeprefix(PREFIX).split('-')[0]}").exists():
                subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def namespace(self, name: str) -> str:
        """The full name of a namespace, for `ip netns`."""
        return f"{self._switch}-{name}"

    def add_namespace(self, name: str) -> str:
        """Returns the name of a new namespace for `ip netns`."""
        full = self.namespace(name) if name else self._switch
        ip("netns", "add", full)
        self._namespaces.append(full)
        ip("link", "set", "lo", "up", namespace=full)
        return full

    def add_bridge(self, name: str) -> None:
        ip("link", "add", f"b-{name}"[:15], "type", "bridge", namespace=self._switch)
        ip("link", "set", f"b-{name}"[:15], "up", namespace=self._switch)

    def connect(self, namespace: str, bridge: str, address: str) -> None:
        """Gives a namespace an interface at a bridge; `address` has a prefix length."""
        self._links += 1
        ours, theirs = f"s{self._links}", f"eth{self._links}"
        ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", namespace, namespace=self._switch)
        ip("link", "set", ours, "master", f"b-{bridge}"[:15], "up", namespace=self._switch)
        ip("addr", "add", address, "dev", theirs, namespace=namespace)
        ip("link", "set", theirs, "up", namespace=namespace)

    def close(self) -> None:
        for namespace in reversed(self._namespaces):
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True)
