"""The client under test: a program that gets commands as JSON lines and prints what its application saw as JSON lines.
README.md describes both."""

from __future__ import annotations

import asyncio
import json
import os
import shlex

START_SECONDS = 60  # Real seconds that a program may take to print `ready`.
STOP_SECONDS = 5
LONGEST_LINE = 1 << 20
MOST_NOISE = 20


class Driver:
    def __init__(self, command: str, on_report):
        self._command, self._on_report = command, on_report
        self.noise: list[str] = []  # The last lines on stderr, and those on stdout that are not JSON.

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *shlex.split(self._command), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, limit=LONGEST_LINE, start_new_session=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"})
        self._readers = [asyncio.create_task(self._read_reports()), asyncio.create_task(self._read_errors())]

    def tell(self, command: dict) -> None:
        """Writes a command; a program that has ended does not get it."""
        if not self._process.stdin.is_closing():
            self._process.stdin.write(json.dumps(command).encode() + b"\n")

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    async def stop(self) -> int | None:
        """Ends the program and returns its exit code, or None if it had to be killed."""
        self.tell({"do": "stop"})
        self._process.stdin.close()
        try:
            return await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
            return None
        finally:
            for reader in self._readers:
                reader.cancel()

    async def _read_reports(self) -> None:
        async for line in self._process.stdout:
            try:
                report = json.loads(line)
            except ValueError:
                report = None
            if isinstance(report, dict) and "saw" in report:
                self._on_report(report)
            else:
                self._note(line)

    async def _read_errors(self) -> None:
        async for line in self._process.stderr:
            self._note(line)

    def _note(self, line: bytes) -> None:
        self.noise = [*self.noise, line.decode(errors="replace").rstrip()][-MOST_NOISE:]
