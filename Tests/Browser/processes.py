"""Child processes: each is started once, known by its id, and ended by it, whatever happened in between. When pytest
itself is killed the kernel ends them (PR_SET_PDEATHSIG), so that no redis-server is left behind."""

import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

import bounds

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


def _die_with_the_parent() -> None:
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class DidNotStart(Exception):
    """A process that should answer does not; the message holds the end of its log."""


class Process:
    """One child process with a log file."""

    def __init__(self, name: str, arguments: list[str], log: Path, environment: dict[str, str] | None = None):
        self.name, self.log = name, log
        self._output = log.open("ab")
        self.child = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT,
            env=environment or dict(os.environ), preexec_fn=_die_with_the_parent)

    @property
    def is_running(self) -> bool:
        return self.child.poll() is None

    def wait_until(self, answers, what: str):
        """Asks `answers()` until it says something true, and returns that.

        Raises DidNotStart when the process ends, or after START_SECONDS."""
        end = time.monotonic() + bounds.START_SECONDS
        while time.monotonic() < end:
            if answer := answers():
                return answer
            if not self.is_running:
                break
            time.sleep(bounds.POLL_SECONDS)
        raise DidNotStart(f"{self.name}: {what} did not come; see {self.log}:\n{self.tail()}")

    def tail(self, lines: int = 30) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def freeze(self) -> None:
        """The process does nothing more, but its sockets stay open: what a half-open connection looks like."""
        self.child.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.child.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """As a machine that loses its power: nobody is told."""
        if self.is_running:
            self.child.kill()
        self.child.wait(bounds.END_SECONDS)

    def end(self) -> None:
        """Asks it to end, and insists after END_SECONDS."""
        if self.is_running:
            self.thaw()
            self.child.terminate()
            try:
                self.child.wait(bounds.END_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
        self._output.close()
