"""The attacked gateway as drivers in other processes see it, and its measurements."""

from __future__ import annotations

import json
import os
import re
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import shared  # noqa: F401, provides tokens
from tokens import token

ASK_SECONDS = 30
TOKEN_SECONDS = 80_000
# Callers and objects: the stage creates them, the drivers use them.
PEOPLE = 6
JOBS = 40
ZONE = "rome"
ROLES = ["customer", "rider", "ops", "service"]


@dataclass(frozen=True)
class Target:
    name: str
    port: int
    management_port: int
    is_secure: bool
    secret: str
    process: int
    log: str
    redis: str
    # Secrets of tracking links, each for one of the jobs.
    links: tuple[str, ...] = ()

    def token(self, role: str, person: str | None = None, **claims) -> str:
        return token(self.secret, role, person or f"{role}-0", TOKEN_SECONDS, **claims)

    def document(self, name: str) -> dict:
        """/openapi.json or /asyncapi.json, from the gateway itself and not from the management listener."""
        import ssl

        scheme = "https" if self.is_secure else "http"
        context = ssl._create_unverified_context() if self.is_secure else None
        with urllib.request.urlopen(
            f"{scheme}://127.0.0.1:{self.port}/{name}", timeout=ASK_SECONDS, context=context
        ) as answer:
            return json.load(answer)

    # Measurements

    @property
    def is_alive(self) -> bool:
        """Whether the same process is running, and not a zombie."""
        try:
            return Path(f"/proc/{self.process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
        except OSError:
            return False

    @property
    def resident_megabytes(self) -> float:
        try:
            found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.process}/status").read_text())
        except OSError:
            found = None
        return int(found.group(1)) / 1024 if found else 0

    @property
    def descriptors(self) -> int:
        try:
            return len(os.listdir(f"/proc/{self.process}/fd"))
        except OSError:
            return 0

    @property
    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def metrics(self) -> dict[str, float]:
        url = f"http://127.0.0.1:{self.management_port}/metrics"
        with urllib.request.urlopen(url, timeout=ASK_SECONDS) as answer:
            lines = answer.read().decode().splitlines()
        samples = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in samples}

    @property
    def logged(self) -> str:
        return Path(self.log).read_text(errors="replace")
