"""Child processes: each is started once, known by its id and ended by it, whatever happens in between. If pytest itself
is killed, the kernel ends them (PR_SET_PDEATHSIG), so that no redis-server is left behind."""

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
    """A process did not answer. The message contains the end of its log."""


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
        """Calls `answers()` until the result is truthy, and returns it.

        Raises DidNotStart if the process ends or after START_SECONDS."""
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
        """Stops the process while its sockets stay open: a half-open connection."""
        self.child.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.child.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kills the process like a power failure: no peer is notified."""
        if self.is_running:
            self.child.kill()
        self.child.wait(bounds.END_SECONDS)

    def end(self) -> None:
        """Sends SIGTERM to the process and kills it after END_SECONDS."""
        if self.is_running:
            self.thaw()
            self.child.terminate()
            try:
                self.child.wait(bounds.END_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
        self._output.close()
