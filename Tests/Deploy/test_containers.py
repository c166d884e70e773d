"""The stand-in for a container engine (containers.py): it leaves nothing behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from containers import Container
from networks import Networks
from processes import Process

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for network namespaces and mounts")

STARTS = """
import sys
from pathlib import Path
from containers import Container
running = Container("sleeper", ["sleep", "1000"], user=(65534, 65534)).run(Path(sys.argv[1]))
running.wait_until_succeeds(["grep", "-q", "^sleep", "/proc/1/cmdline"])
print(running.pid, flush=True)
sys.stdin.read()
"""


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except OSError:
        return True


@pytest.fixture
def sleeper(tmp_path):
    """A process like pytest's that has started a container, and the container's first process."""
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "Stage")]
    parent = subprocess.Popen(
        [sys.executable, "-c", STARTS, str(tmp_path / "c")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": ":".join(folders)})
    yield parent, int(parent.stdout.readline())
    parent.kill()
    parent.wait()


def test_a_container_ends_with_the_test_that_started_it(sleeper, start):
    """Also if the test is killed and cannot clean up: the container runs as another user, which clears PR_SET_PDEATHSIG."""
    parent, container = sleeper
    assert not is_gone(container)
    parent.send_signal(signal.SIGKILL)
    watch: Process = start("watch", ["sleep", "60"])
    watch.wait_until(lambda: is_gone(container), "the end of the container")


def test_an_ended_container_has_no_process_left(tmp_path):
    running = Container("sleeper", ["sleep", "1000"], user=(65534, 65534)).run(tmp_path / "c")
    running.wait_until_succeeds(["grep", "-q", "^sleep", "/proc/1/cmdline"])
    pid = running.pid
    running.end()
    assert is_gone(pid)


def test_the_namespaces_of_a_killed_test_are_removed_by_the_next(tmp_path):
    left = subprocess.run(
        [sys.executable, "-c", "from networks import Networks; made = Networks(); print(made.namespace('x'))"],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parent).stdout.strip().removesuffix("-x")
    assert left in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    Networks().close()
    assert left not in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
