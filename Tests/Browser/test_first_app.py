"""deploy/first-app.md: its blocks, in their order, with enroute dev and a page of another origin in Chromium."""

import os
import re
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from playwright.sync_api import expect

import bounds
from devices import Devices
from evidence import Evidence
from stage import ROOT, enroute
from waiting import until

GUIDE = ROOT / "deploy/first-app.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Terminal:
    """Runs blocks of the guide in one folder, with the variables that enroute dev printed."""

    def __init__(self, folder: Path, ports: dict[str, int]):
        self.folder, self._ports, self._running, self.variables = folder, ports, [], ""
        binaries = folder / "bin"
        binaries.mkdir()
        (binaries / "enroute").symlink_to(enroute())
        self._environment = {"PATH": f"{binaries}:/usr/sbin:/usr/bin:/bin", "HOME": str(folder), "TMPDIR": os.environ.get("TMPDIR", "/tmp")}

    def with_ports(self, text: str) -> str:
        for documented, free in self._ports.items():
            text = re.sub(rf"\b{documented}\b", str(free), text)
        return text

    def run(self, block: str) -> str:
        done = subprocess.run(
            ["bash", "-euc", f"{self.variables}\n{self.with_ports(block)}"], cwd=self.folder, env=self._environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=bounds.ANSWER_SECONDS)
        assert done.returncode == 0, done.stdout
        assert "urn:enroute:problem" not in done.stdout, done.stdout
        return done.stdout

    def answers(self, documented: str) -> bool:
        """Whether somebody listens on a port of the guide."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._ports[documented])) == 0

    def start(self, block: str) -> subprocess.Popen:
        """Starts a command that runs until the end of the test."""
        child = subprocess.Popen(
            ["bash", "-c", f"exec {self.with_ports(block).strip()}"], cwd=self.folder, env=self._environment,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._running.append(child)
        return child

    def close(self):
        for child in self._running:
            child.terminate()
            child.wait(bounds.ANSWER_SECONDS)


@pytest.fixture
def terminal(tmp_path):
    # `enroute dev` listens on the documented port unless told otherwise, which the test does.
    terminal = Terminal(tmp_path, {"8080": free_port(), "3000": free_port()})
    yield terminal
    terminal.close()


@pytest.mark.lean
def test_the_guide_leads_to_a_page_that_follows_a_rider(terminal, browser):
    blocks = BLOCK.findall(GUIDE.read_text())
    assert [language for language, _ in blocks] == ["sh", "sh", "sh", "html", "sh", "sh", "sh", "sh"]
    start, orders, folder, page, serve, ride, end, hand_over = (text for _, text in blocks)
    dev = terminal.start(start.strip() + " --port 8080")
    printed = []
    for line in dev.stdout:
        printed.append(line)
        if line.startswith("#   enroute job show"):
            break
    threading.Thread(target=dev.stdout.read, daemon=True).start()
    # The lines that begin with export, and their continuations.
    text = "".join(printed)
    terminal.variables = "\n".join(re.findall(r"^export .*?[^\\]$", text, re.MULTILINE | re.DOTALL))
    assert terminal.variables.count("export ") == 6, text
    assert "on_the_way" in terminal.run(orders)
    terminal.run(folder)
    (terminal.folder / "app/index.html").write_text(terminal.with_ports(page))
    terminal.start(serve)
    url = terminal.with_ports("http://localhost:3000/")
    evidence = Evidence(url)
    devices = Devices(browser, evidence, url)
    try:
        until(lambda: terminal.answers("3000"), "the server of the page answers")
        moving = devices.desktop(f"{url}?job=seed-1")
        expect(moving.locator("#status")).to_have_text("seed-1: on_the_way, live")
        expect(moving.locator("#place")).to_have_text(re.compile(r"^\d+\.\d{4}, \d+\.\d{4}$"))
        own = devices.desktop(url)
        expect(own.locator("#status")).to_have_text("visit-1: on_the_way, waiting")
        expect(own.locator("#place")).to_have_text("No position yet.")
        terminal.run(ride)
        expect(own.locator("#place")).to_have_text("41.9102, 12.4853")
        terminal.run(end)
        expect(own.locator("#status")).to_have_text(re.compile("^visit-1: completed, "))
        expect(own.locator("#place")).to_have_text("No position yet.")
        assert '"rider":"rider-2"' in terminal.run(hand_over).splitlines()[-1]
    finally:
        devices.close()
