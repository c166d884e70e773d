"""The image of deploy/container/Dockerfile, built in a fresh Debian without an engine (images.py) and run as its user with a
read-only root. The binary is that of `make release` (or ENROUTE_BINARY): the stage that compiles takes a quarter of an hour
and is replaced by a copy of its result. A debug build does not do, because it needs the toolchain's libraries."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

import images
from containers import Container, Running
from networks import Networks

pytestmark = [pytest.mark.long, pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for mmdebstrap and chroot")]

SETTINGS = {
    "ENROUTE_REDIS_LIVE_URL": "redis://redis:6379", "ENROUTE_MODE": "development", "ENROUTE_TLS": "off",
    "ENROUTE_TOKEN_SECRET": "a secret of at least thirty-two bytes", "ENROUTE_DRAIN_ACCEPT_SECONDS": "1",
}


def release() -> Path:
    path = Path(os.environ.get("ENROUTE_BINARY", images.TOP / ".build/release/enroute"))
    if not path.exists():
        pytest.fail(f"There is no gateway at {path}: `make release`, or set ENROUTE_BINARY.")
    return path


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> images.Image:
    return images.Build(tmp_path_factory.mktemp("image"), release()).run()


@pytest.fixture
def network():
    """Two namespaces that reach each other: `gateway` and `redis`."""
    made = Networks()
    made.add_bridge("site")
    for number, name in enumerate(("gateway", "redis"), 1):
        made.connect(made.add_namespace(name), "site", f"10.89.78.{number}/24")
    yield made
    made.close()


@pytest.fixture
def run(image, network, tmp_path):
    """run("gateway", ["serve"]): starts a container of the image, or of this machine's programs."""
    started = []

    def begin(name: str, command: list[str], **changes) -> Running:
        container = Container(
            name, command, namespace=network.namespace(name), hosts={"redis": "10.89.78.2"}, **(
                dict(image=image.root, environment=image.environment | SETTINGS, user=image.user) | changes))
        started.append(container.run(tmp_path / f"{name}-{len(started)}"))
        return started[-1]

    yield begin
    for running in started:
        running.end()


def serve(run, image) -> Running:
    gateway = run("gateway", image.entrypoint + image.command)
    gateway.wait_until_succeeds(image.healthcheck)
    return gateway


def test_the_image_has_every_library_that_the_gateway_needs(run, image):
    """`--version` loads all of them."""
    gateway = serve(run, image)
    assert gateway.execute(["enroute", "--version"]).stdout.strip()


def test_the_health_check_of_the_image_passes_while_redis_is_unavailable(run, image):
    """An orchestrator that restarts unhealthy containers must not restart a gateway that waits."""
    gateway = serve(run, image)
    done = gateway.execute(["enroute", "probe"])
    assert done.returncode == 1 and "waiting for Redis, or for the clock" in done.stdout


def test_a_gateway_of_the_image_becomes_ready_and_serves_its_pages(run, image):
    """With a read-only root and no writable folder at all; the map comes from the package libjs-leaflet."""
    gateway = serve(run, image)
    run("redis", ["redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--save", "", "--dir", "/"],
        image=Path("/"), environment={}, user=(65534, 65534))
    assert gateway.wait_until_succeeds(["enroute", "probe"]) == "ready\n"
    assert gateway.execute(["touch", "/tmp/x"]).returncode != 0
    page = subprocess.run(
        ["ip", "netns", "exec", gateway.container.namespace, "curl", "-sS", "--fail", "http://127.0.0.1:8443/track/x"],
        capture_output=True, text=True)
    assert page.returncode == 0 and "leaflet" in page.stdout.lower()


def test_process_1_of_the_image_ends_at_its_stop_signal_with_exit_code_0(run, image):
    """Process 1 has no default action for SIGTERM: a gateway that did not handle it would be killed after the period."""
    gateway = serve(run, image)
    status = Path(f"/proc/{gateway.pid}/status").read_text()
    assert "\nNSpid:\t" in status and status.split("\nNSpid:\t")[1].split("\n")[0].split()[-1] == "1"
    assert gateway.stop(signal.Signals[image.stop_signal], seconds=20) == 0


def test_a_gateway_of_the_image_with_a_wrong_setting_says_so_and_ends(run, image):
    gateway = run("gateway", image.entrypoint + image.command, environment=SETTINGS | {"ENROUTE_TLS": "maybe"})
    assert gateway.process.child.wait(20) == 78
    assert "ENROUTE_TLS is maybe" in gateway.log
