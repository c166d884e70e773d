"""Linux network tools: `ss -K` ends a browser's TCP connection in the kernel without either side asking for it."""

import os
import re
import subprocess

import pytest

LOCAL_PORT = re.compile(r"127\.0\.0\.1:(\d+)\s+127\.0\.0\.1:\d+.*users:\(\(\"chrom")


def ss(*words: str) -> str:
    return subprocess.run(["ss", *words], capture_output=True, text=True, check=True).stdout


def browser_ports(port: int) -> list[str]:
    """Returns the local ports of Chromium's connections to a port."""
    return [found.group(1) for line in ss("-tnpH", "state", "established", "dport", "=", f":{port}").splitlines()
            if (found := LOCAL_PORT.search(line))]


def cut_browser(port: int) -> int:
    """Ends all connections of the browser to the port, at both ends, and returns their number.

    Skips the test if the kernel does not support that."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED that a page survives a cut connection: `ss -K` ends somebody else's only for root. "
                    "CI runs as root; here: sudo make test-browser BROWSER='-k cut'")
    ports = browser_ports(port)
    for local in ports:
        ss("-K", "-tn", "sport", "=", f":{local}", "dport", "=", f":{port}")
    if left := set(ports) & set(browser_ports(port)):
        pytest.skip(f"NOT TESTED that a page survives a cut connection: `ss -K` left {len(left)} of them, so this "
                    "kernel has no INET_DIAG_DESTROY. Run it where CONFIG_INET_DIAG_DESTROY is set")
    return len(ports)
