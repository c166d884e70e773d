"""Containers without a container engine: a process in a root directory of its own, with the namespaces, mounts, user and
limits that an engine would give it. Needs root.

The root is an overlay over a folder, which is an unpacked image, or `/` for programs of this machine. What is missing in
comparison with an engine: cgroups (memory and process limits) and seccomp. Each container is process 1 of its own pid
namespace, so signals have the same effect as under an engine."""

import contextlib
import os
import shlex
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import bounds
from processes import Process

DEVICES = ("null", "zero", "full", "random", "urandom")


@dataclass
class Container:
    """What to run, in the terms of an image and of an engine."""

    name: str
    command: list[str]
    image: Path = Path("/")
    environment: dict[str, str] = field(default_factory=dict)
    user: tuple[int, int] = (0, 0)
    groups: list[int] = field(default_factory=list)
    account: str | None = None
    """A name for the user, as in /etc/passwd of the image that this container stands for."""
    mounts: list[tuple[Path, str, bool]] = field(default_factory=list)
    """Source, target, and whether it is writable."""
    tmpfs: list[tuple[str, str]] = field(default_factory=list)
    """Target and mount options."""
    is_read_only: bool = True
    workdir: str = "/"
    hosts: dict[str, str] = field(default_factory=dict)
    namespace: str | None = None
    """A network namespace of `ip netns`; without one, the container has only a loopback interface."""
    files: int = 65536
    """The limit of open files."""

    def run(self, scratch: Path) -> "Running":
        """Starts the container. `scratch` is a folder for its root, its script and its log."""
        return Running(self, scratch)

    def setup(self, root: str) -> str:
        """The script that builds the root; PATH is this machine's."""
        quote = shlex.quote
        lines = [
            "mkdir up work root",
            f"mount -t overlay overlay -o lowerdir={self.image},upperdir=up,workdir=work root",
            "mkdir -p root/proc root/dev root/tmp root/etc",
            "mount -t proc proc root/proc",
            "mount -t tmpfs -o mode=755 tmpfs root/dev",
            "ln -s /proc/self/fd root/dev/fd",
        ]
        for device in DEVICES:
            lines.append(f"touch root/dev/{device}; mount --bind /dev/{device} root/dev/{device}")
        if self.account:
            lines.append(f"sed -i '/^{self.account}:/d' root/etc/passwd root/etc/group")
            lines.append(f"echo '{self.account}:x:{self.user[0]}:{self.user[1]}::/:/bin/false' >> root/etc/passwd")
            lines.append(f"echo '{self.account}:x:{self.user[1]}:' >> root/etc/group")
        lines.append("rm -f root/etc/hosts && echo '127.0.0.1 localhost' > root/etc/hosts")
        for name, address in self.hosts.items():
            lines.append(f"echo {quote(f'{address} {name}')} >> root/etc/hosts")
        for target, options in self.tmpfs:
            lines.append(f"mkdir -p {quote(f'root{target}')}")
            lines.append(f"mount -t tmpfs -o {quote(options or 'mode=1777')} tmpfs {quote(f'root{target}')}")
        for source, target, is_writable in self.mounts:
            place, origin = quote(f"root{target}"), quote(str(source))
            if source.is_dir():
                lines.append(f"mkdir -p {place}")
            else:
                # The folder may exist on this machine, and be closed to the user of the image.
                lines += [f"mkdir -p $(dirname {place})", f"chmod 755 $(dirname {place})", f"touch {place}"]
            lines.append(f"mount --bind {origin} {place}")
            if not is_writable:
                lines.append(f"mount -o remount,bind,ro {place}")
        if self.is_read_only:
            lines.append("mount -o remount,ro root")
        lines.append("ip link set lo up")
        # As much of it as this machine allows.
        lines.append(f"hard=$(ulimit -Hn); if [ $hard = unlimited ] || [ $hard -gt {self.files} ]; then hard={self.files}; fi")
        lines.append("ulimit -n $hard")
        return "\n".join(lines) + f"\nexec {self.enter(root, self.command)}\n"

    def enter(self, root: str, command: list[str]) -> str:
        """The command line that runs a command inside, as the container's user, without capabilities."""
        quote = shlex.quote
        user, group = self.user
        groups = f"--groups {','.join(map(str, self.groups))}" if self.groups else "--clear-groups"
        drop = "" if user == 0 else "--no-new-privs --inh-caps=-all --bounding-set=-all"
        variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"} | self.environment
        words = " ".join(quote(f"{name}={value}") for name, value in variables.items())
        inner = " ".join(quote(word) for word in command)
        return (f"chroot {quote(root)} setpriv --reuid={user} --regid={group} {groups} {drop} "
                f"env -i -C {quote(self.workdir)} {words} {inner}")


class Running:
    """A container that was started."""

    def __init__(self, container: Container, scratch: Path):
        self.container = container
        scratch.mkdir(parents=True)
        self._mount = scratch / "m"
        self._mount.mkdir()
        self._root = str(self._mount / "root")
        script = scratch / "start.sh"
        place = shlex.quote(str(self._mount))
        script.write_text(f"set -euo pipefail\nmount -t tmpfs tmpfs {place}\ncd {place}\n{container.setup(self._root)}")
        namespace = ["ip", "netns", "exec", container.namespace] if container.namespace else ["unshare", "--net"]
        self.process = Process(
            container.name,
            # The outer namespace of processes ends everything inside when its first process ends, which the kernel does when
            # the test ends (PR_SET_PDEATHSIG). The inner one alone would not: a change of the user clears that setting.
            [*namespace, "unshare", "--pid", "--fork", "--kill-child", "unshare", "--mount", "--propagation", "private", "--pid", "--ipc", "--uts", "--fork",
             "--kill-child", "bash", str(script)], scratch / "log")

    @property
    def log(self) -> str:
        return self.process.log.read_text(errors="replace")

    @property
    def pid(self) -> int | None:
        """Process 1 of the container, by its id here."""
        pid = self.process.child.pid
        for _ in range(2):  # `unshare` twice
            try:
                children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            except OSError:
                return None
            if not children:
                return None
            pid = int(children[0])
        return pid

    def execute(self, command: list[str], timeout: float = bounds.ANSWER_SECONDS) -> subprocess.CompletedProcess:
        """Runs a command inside, as `docker exec` does: the same user, environment and root."""
        return subprocess.run(
            ["nsenter", "--target", str(self.pid), "--mount", "--net", "--pid", "--ipc", "--uts", "bash", "-c",
             "exec " + self.container.enter(self._root, command)],
            capture_output=True, text=True, timeout=timeout)

    def wait_until_succeeds(self, command: list[str]) -> str:
        """Repeats a health check until it succeeds, and returns its output."""
        done: list[subprocess.CompletedProcess] = []

        def succeeds() -> bool:
            if self.pid is not None:
                done[:] = [self.execute(command)]
            return bool(done) and done[0].returncode == 0

        try:
            self.process.wait_until(succeeds, f"success of {command}")
        except Exception as reason:
            raise AssertionError(f"{reason}\n{done}") from reason
        return done[0].stdout

    def stop(self, signal_number: int, seconds: float) -> int:
        """Stops the container like `docker stop`, and returns its exit code. Fails if it takes longer than `seconds`."""
        os.kill(self.pid, signal_number)
        return self.process.child.wait(seconds)

    def end(self) -> None:
        """Kills the container, and returns when none of its processes is left. The kernel removes its mounts and namespaces."""
        first = self.pid
        if first is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(first, signal.SIGKILL)
            # Both `unshare` end after it.
            self.process.child.wait(bounds.END_SECONDS)
        self.process.kill()
        self.process.end()
