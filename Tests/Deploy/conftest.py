"""The fixtures of the deployment tests: sites of several gateways, which tests put behind a balancer, monitor and break.
Each test has a site of its own, because most of them break it.

ENROUTE_BINARY defaults to .build/debug/enroute."""

import contextlib
import fcntl
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from balancers import HAProxy, Nginx, settings_of
from processes import Process
from stage import ROOT, Site, enroute, forget
from waiting import until

# They share the root of a Debian system and the package, which are made once: one file of them at a time.
IN_MACHINES = {"test_guide", "test_install", "test_systemd"}
SENSITIVE = {"test_alerts", "test_container_site"} | IN_MACHINES
# Until the file that another worker of pytest-xdist runs has ended.
TURN_SECONDS = 600


def pytest_itemcollected(item):
    if item.path.stem in SENSITIVE:
        item.add_marker(pytest.mark.sensitive)


turns: list = []


@contextlib.contextmanager
def turn() -> Iterator[None]:
    """Work that no two workers do at the same time. A worker that has its turn may take it again."""
    if turns:
        yield
        return

    def is_taken() -> bool:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    with (ROOT / ".build-deploy/machines.lock").open("w") as file:
        until(is_taken, "another worker's machines", TURN_SECONDS)
        turns.append(file)
        try:
            yield
        finally:
            turns.remove(file)


@pytest.fixture(scope="module", autouse=True)
def machines(request) -> Iterator[None]:
    with turn() if request.path.stem in IN_MACHINES else contextlib.nullcontext():
        yield


def pytest_sessionfinish(session):
    """In CI every test must run: one that is skipped there runs nowhere."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    if os.environ.get("CI") and terminalreporter.stats.get("skipped"):
        terminalreporter.write_line("error: in CI no test may be skipped")


def pytest_collection_finish(session):
    """Without a gateway no test can run."""
    if session.items and not session.config.option.collectonly:
        try:
            enroute()
        except FileNotFoundError as reason:
            pytest.exit(str(reason), returncode=pytest.ExitCode.USAGE_ERROR)


@pytest.fixture(scope="session")
def package() -> Path:
    """The Debian package of the program that the tests use. It is built without compression, because it is only installed here."""
    # A file that begins with it builds it before the fixture `machines`, because its scope is wider.
    with turn():
        done = subprocess.run(
            ["make", "-s", "--no-print-directory", "-C", ROOT, "deb", f"ENROUTE={enroute()}"],
            env=os.environ | {"COMPRESSION": "none", "REVISION": f"0test{os.getpid()}"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    built = Path(done.stdout.splitlines()[-1])
    yield built
    built.unlink()


@pytest.fixture
def make_site(tmp_path) -> Callable[..., Site]:
    """make_site(gateways=3, DRAIN_SECONDS=2): a site whose gateways have a management port."""
    sites = []

    def make(**settings) -> Site:
        sites.append(Site(tmp_path / f"site-{len(sites) + 1}", **({"MANAGEMENT": "on"} | settings)))
        return sites[-1]

    yield make
    for made in sites:
        made.close()
        forget(made.folder)


@pytest.fixture
def start(tmp_path) -> Callable[..., Process]:
    """start("haproxy", ["haproxy", "-db", "-f", path]): a process that ends with the test."""
    processes = []

    def begin(name: str, arguments: list[str], environment: dict[str, str] | None = None) -> Process:
        log: Path = tmp_path / f"{name}-{len(processes) + 1}.log"
        processes.append(Process(name, arguments, log, environment))
        return processes[-1]

    yield begin
    for process in reversed(processes):
        process.end()


@pytest.fixture
def behind(make_site, start) -> Callable[..., tuple[Site, HAProxy | Nginx]]:
    """behind(HAProxy, 4, gateways=3, DRAIN_SECONDS=2): a site behind a balancer at a layer. Arguments that start with BALANCER_
    are environment variables of the balancer, the other upper-case ones settings of the gateways. `has_prefix`: the gateways
    are below a path prefix, which the balancer removes."""

    def make(
        balancer: type, layer: int, gateways: int = 3, has_prefix: bool = False, **settings,
    ) -> tuple[Site, HAProxy | Nginx]:
        own = {name: settings.pop(name) for name in list(settings) if name.startswith("BALANCER_")}
        own |= {"has_prefix": True} if has_prefix else {}
        site = make_site(**(settings_of(layer) | {"gateways": gateways} | settings))
        return site, balancer(start, site, layer, site.folder / "balancer", **own)

    return make
