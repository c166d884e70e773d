"""A machine with a real systemd: Debian in a folder, booted by systemd-nspawn in namespaces and a cgroup of its own. It has
no network but its own loopback, and changes nothing outside its folder. Needs root, systemd-nspawn and mmdebstrap."""

import contextlib
import ctypes
import hashlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

import waiting

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / ".build-deploy"
# The packages of a machine with gateways, and those that the tests use there.
PACKAGES = ("systemd systemd-sysv dbus procps adduser redis-server libhiredis0.14 libssl3 zlib1g libstdc++6 libjs-leaflet "
            "ca-certificates openssl curl haproxy socat "
            # A debug build is linked with more of Foundation.
            "libxml2").split()
# The toolchain's libraries: a debug build is linked with them.
SWIFT = Path("/opt/swift/usr/lib/swift/linux")
BOOT_SECONDS = 60
COMMAND_SECONDS = 60

PR_SET_PDEATHSIG = 1
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def cannot_run() -> str | None:
    """Why no machine can be booted here; None if one can."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [tool for tool in ("systemd-nspawn", "mmdebstrap", "nsenter") if not shutil.which(tool)]
    if missing:
        return f"not installed: {' '.join(missing)}"
    hierarchy = cgroup2()
    return None if hierarchy and os.access(hierarchy, os.W_OK) else "cgroup v2 is not mounted, or read-only"


def cgroup2() -> Path | None:
    """The folder of this process in the hierarchy of cgroup v2."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    own = next((line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")), "/")
    return next((Path(mount[1] + own) for mount in mounts if mount[2] == "cgroup2"), None)


def system_archive() -> Path:
    """The installed system as an archive, made once from Debian's packages."""
    version = hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:12]
    archive = BUILD / f"bookworm-{version}.tar"
    if not archive.exists():
        BUILD.mkdir(exist_ok=True)
        unfinished = archive.with_suffix(f".{os.getpid()}.tar")
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}",
                        "bookworm", unfinished, "http://deb.debian.org/debian"], check=True)
        unfinished.rename(archive)
    return archive


def unpack(folder: Path) -> Path:
    """A fresh system in this folder."""
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-C", folder, "--numeric-owner", "-xf", system_archive()], check=True)
    # A redis-server of Debian's own would occupy the port, and Debian's HAProxy has nothing to do.
    for unit in ("redis-server", "haproxy"):
        (folder / f"etc/systemd/system/{unit}.service").symlink_to("/dev/null")
    return folder


class Machine:
    """A booted system. `run` executes commands in it."""

    def __init__(self, root: Path, log: Path):
        self.root, self.log = root, log
        name = f"enroute-{os.getpid()}"
        self.cgroups = [cgroup2() / name]
        self.cgroups[0].mkdir()
        legacy = Path("/sys/fs/cgroup/systemd") / name
        if legacy.parent.is_dir():
            self.cgroups.append(legacy)

        def enter():
            # Not SIGKILL: systemd-nspawn then ends, and the machine does not.
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            (self.cgroups[0] / "cgroup.procs").write_text(str(os.getpid()))

        SWIFT.is_dir() and (root / SWIFT.relative_to("/")).mkdir(parents=True, exist_ok=True)
        binds = [f"--bind-ro={SWIFT}"] if SWIFT.is_dir() else []
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                ["systemd-nspawn", "--quiet", f"--directory={root}", f"--machine={name}", "--register=no", "--keep-unit",
                 "--private-network", "--console=pipe", *binds, "--boot", "systemd.log_target=journal"],
                env=os.environ | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1", "UNIFIED_CGROUP_HIERARCHY": "1"},
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, preexec_fn=enter)
        self.leader = 0
        self.wait(self._has_booted, "the system has booted", BOOT_SECONDS)

    def _has_booted(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"systemd-nspawn has ended:\n{self.log.read_text(errors='replace')[-3000:]}")
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout.split()
        if not children:
            return False
        self.leader = int(children[0])
        return self.run("systemctl is-system-running", check=False).stdout.strip() in ("running", "degraded")

    # MARK: commands

    def run(self, command: str, check: bool = True) -> subprocess.CompletedProcess:
        """Executes a shell command as root in the machine."""
        done = subprocess.run(
            ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p", "-C", "--", "/usr/bin/env", "-i",
             "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "/bin/sh", "-c", command],
            capture_output=True, text=True, timeout=COMMAND_SECONDS, stdin=subprocess.DEVNULL)
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}{self.journal()}"
        return done

    def show(self, unit: str, *properties: str) -> list[str]:
        """Properties of a unit, as `systemctl show` prints them."""
        output = self.run(f"systemctl show -p {' -p '.join(properties)} {unit}").stdout
        values = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
        return [values[name] for name in properties]

    def journal(self, unit: str = "") -> str:
        done = self.run(f"journalctl --no-pager -n 60 {'-u ' + unit if unit else ''}", check=False)
        return done.stdout + done.stderr

    def wait(self, holds, what: str, seconds: float = 30):
        """Calls `holds()` until the result is truthy, and returns it."""
        return waiting.until(
            holds, lambda: f"within {seconds} s it was not so: {what}\n{self.journal() if self.leader else ''}", seconds)

    # MARK: files

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def drop_in(self, unit: str, text: str) -> None:
        """Sets directives of one unit."""
        self.write(f"/etc/systemd/system/{unit}.d/test.conf", text)
        self.run("systemctl daemon-reload")

    # MARK: processes

    def outside(self, inside: int) -> int:
        """The id that a process of the machine has outside of it."""
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                ids = next(line.split()[1:] for line in status.read_text().splitlines() if line.startswith("NSpid:"))
                if len(ids) > 1 and int(ids[-1]) == inside and os.stat(status.parent / "ns/pid").st_ino == self._pids():
                    return int(ids[0])
            except (FileNotFoundError, ProcessLookupError, StopIteration):
                continue
        raise AssertionError(f"no process {inside}")

    def _pids(self) -> int:
        return os.stat(f"/proc/{self.leader}/ns/pid").st_ino

    def main_process(self, unit: str) -> int:
        return self.outside(int(self.show(unit, "MainPID")[0]))

    def end(self) -> None:
        """Pulls the plug: the kernel ends all processes of a machine whose first one is killed. Removes its cgroups."""
        if self.leader:
            os.kill(self.leader, signal.SIGKILL)
        else:
            self.process.terminate()
        self.process.wait(20)
        for top in self.cgroups:
            for folder, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(TimeoutError):
                    waiting.until(lambda: self._is_removed(folder), folder, self.REMOVAL_SECONDS)

    # A cgroup can be removed once the kernel has ended its processes.
    REMOVAL_SECONDS = 2.5

    @staticmethod
    def _is_removed(folder: str) -> bool:
        try:
            os.rmdir(folder)
            return True
        except OSError:
            return False


class FrozenThread:
    """Stops one thread of a process, as a debugger does, while its other threads run: a hung event loop."""

    def __init__(self, process: int, name: str):
        tasks = Path(f"/proc/{process}/task")
        named = {int(task.name): (task / "comm").read_text().strip() for task in tasks.iterdir()}
        loops = sorted(thread for thread, found in named.items() if found.startswith(name))
        assert loops, f"no thread {name} among {sorted(named.values())}"
        self.thread = loops[-1]
        if libc.ptrace(PTRACE_SEIZE, self.thread, None, None) or libc.ptrace(PTRACE_INTERRUPT, self.thread, None, None):
            raise OSError(ctypes.get_errno(), "ptrace")
        os.waitpid(self.thread, WALL)

    def thaw(self) -> None:
        """Lets the thread run; also reaps it if its process has been killed."""
        if libc.ptrace(PTRACE_DETACH, self.thread, None, None):
            try:
                os.waitpid(self.thread, WALL)
            except ChildProcessError:
                pass
