"""Networks for containers: bridges in a network namespace of their own, to which containers and the test itself connect.
Nothing leaves these namespaces. Needs root."""

import contextlib
import ctypes
import os
import secrets
import subprocess
from collections.abc import Iterator

CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def ip(*words: str, namespace: str | None = None) -> None:
    prefix = ["ip", "-n", namespace] if namespace else ["ip"]
    subprocess.run([*prefix, *words], check=True, capture_output=True, text=True)


class Networks:
    """Bridges by name, and the namespaces that are attached to them."""

    def __init__(self):
        self._key = secrets.token_hex(3)
        self._switch = f"enroute-{self._key}"
        self._namespaces: list[str] = []
        self._links = 0
        self.add_namespace("")

    def add_namespace(self, name: str) -> str:
        """Returns the name of a new namespace for `ip netns`."""
        full = f"{self._switch}-{name}" if name else self._switch
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


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """The calling thread's sockets are in this namespace."""
    with open("/proc/thread-self/ns/net") as ours, open(f"/run/netns/{namespace}") as theirs:
        _enter(theirs.fileno())
        try:
            yield
        finally:
            _enter(ours.fileno())


def _enter(descriptor: int) -> None:
    if libc.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
