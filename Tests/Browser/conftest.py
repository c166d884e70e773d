"""The fixtures of the browser tests: a site, an order system, riders on real sockets, and browsers. Tests describe what
happens in the world and what the page then shows. They wait with `expect`, with a rider's `hear` or with the page's own
clock, never by letting time pass.

    ENROUTE_BINARY=… .build-browser/venv/bin/pytest Tests/Browser -m lean -k customer

ENROUTE_BINARY defaults to .build/debug/enroute. Pages are read from Sources/WebAssets/web at each request."""

import os
import re
import shutil

import pytest
from playwright.sync_api import expect, sync_playwright

import accessibility
import bounds
from devices import ARGUMENTS, CHROMIUM, WITH_WINDOWS, Devices
from evidence import Evidence
from followers import following
from measured import Measured
from order_system import HOME, Job, OrderSystem
from riders import Rider
from stage import BUILD, Site, enroute, forget
from trips import Spot, to_the_door

FAILURES = BUILD / "failures"
expect.set_options(timeout=bounds.PAGE_MS)


def pytest_configure(config):
    BUILD.mkdir(exist_ok=True)
    if not is_worker(config):
        shutil.rmtree(FAILURES, ignore_errors=True)
    config.measured = Measured()
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(Workers(config.measured))


def is_worker(config) -> bool:
    """Whether this process runs a part of the tests for another one (pytest-xdist)."""
    return hasattr(config, "workerinput")


class Workers:
    """Collects the workers' measurements."""

    def __init__(self, measured: Measured):
        self.measured = measured

    def pytest_testnodedown(self, node):
        self.measured.values |= getattr(node, "workeroutput", {}).get("measured", {})


def pytest_sessionfinish(session):
    """In CI every selected test must run: one that is skipped there runs nowhere."""
    if is_worker(session.config):
        session.config.workeroutput["measured"] = session.config.measured.values
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_collection_finish(session):
    """Without a gateway no test can run."""
    if session.items and not session.config.option.collectonly:
        try:
            enroute()
        except FileNotFoundError as reason:
            pytest.exit(str(reason), returncode=pytest.ExitCode.USAGE_ERROR)


def pytest_terminal_summary(terminalreporter, config):
    if os.environ.get("CI") and terminalreporter.stats.get("skipped"):
        terminalreporter.write_line("error: in CI no test may be skipped")
    for line in config.measured.lines():
        terminalreporter.write_line(f"measured  {line}")
    if config.measured.values:
        config.measured.save()
    if FAILURES.exists():
        terminalreporter.write_line(f"screenshots and logs of what failed: {FAILURES}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Lets a fixture see at its end whether the test failed: `request.node.report`."""
    report = yield
    if report.when == "call" or report.failed:
        item.report = report
    return report


# The site


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """One site for all tests that break nothing. Each test has its own jobs and people."""
    site = Site(tmp_path_factory.mktemp("site"))
    yield site
    site.close()


@pytest.fixture
def make_site(tmp_path, request):
    """make_site(has_relay=True, ETA_INTERVAL_SECONDS=10): a site for one test, to be broken or configured differently."""
    sites = []

    def make(**settings) -> Site:
        sites.append(Site(tmp_path / f"site-{len(sites) + 1}", **settings))
        return sites[-1]

    yield make
    for made in sites:
        made.close()
        forget(made.folder) if not _has_failed(request) else None


@pytest.fixture
def order_system(site):
    return OrderSystem(site)


@pytest.fixture
def rider(order_system):
    """rider(job, …): a signed-in rider of these jobs (their own rider unless `person` is given), also on another site."""
    riders = []

    def sign_in(*jobs, person=None) -> Rider:
        riders.append(Rider(jobs[0].orders if jobs else order_system, *jobs, person=person))
        return riders[-1]

    yield sign_in
    for each in riders:
        each.close()


@pytest.fixture
def coming(order_system, rider):
    """coming(spot, kind="delivery"): a job whose rider travels and was seen (at the start of a trip to HOME by default),
    and the rider."""

    def make(spot: Spot | None = None, kind: str = "visit") -> tuple[Job, Rider]:
        statuses = ["on_the_way"] if kind == "visit" else ["accepted", "preparing", "ready_for_pickup", "in_transit"]
        job = getattr(order_system, kind)(*statuses)
        driver = rider(job).travel()
        driver.report(spot or to_the_door(HOME).at(0), is_answered=True)
        with following(job) as follower:
            follower.hear_live()
        return job, driver

    return make


# The browser


@pytest.fixture(scope="session")
def playwright():
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(playwright):
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def browser_with_windows(playwright):
    """A browser for notifications, which Chromium without windows does not support."""
    browser = playwright.chromium.launch(executable_path=WITH_WINDOWS, args=ARGUMENTS)
    yield browser
    browser.close()


@pytest.fixture
def open_devices(browser, request):
    """open_devices(site): browsers for the test's own site. Their evidence is checked at the end of the test."""
    opened: list[tuple[Devices, Evidence]] = []

    def open_for(site: Site) -> Devices:
        evidence = Evidence(site.url)
        devices = Devices(browser, evidence, site.url)
        devices.evidence = evidence
        opened.append((devices, evidence))
        return devices

    yield open_for
    has_failed = _has_failed(request)
    offences = [offence for _, evidence in opened for offence in evidence.offences]
    if has_failed or offences:
        name = re.sub(r"[^\w-]+", "_", request.node.name)[:120]
        for number, (_, evidence) in enumerate(opened, 1):
            evidence.keep(FAILURES / name / str(number))
    for devices, _ in opened:
        devices.close()
    if offences and not has_failed:
        pytest.fail("\n".join(offences))


@pytest.fixture
def devices(open_devices, site):
    return open_devices(site)


@pytest.fixture
def evidence(devices):
    """The reports of this test's browsers: console, errors, requests."""
    return devices.evidence


@pytest.fixture
def phone(devices):
    """phone(url, dark=True, locale="de-DE", …): a page on a phone; the options are those of Devices.open."""
    return devices.phone


@pytest.fixture
def small_phone(devices):
    return devices.small_phone


@pytest.fixture
def desktop(devices):
    return devices.desktop


@pytest.fixture
def axe():
    """axe(page): the page has no violation of WCAG 2.1 AA in its current state."""
    return accessibility.assert_accessible


@pytest.fixture
def measured(request):
    """measured.note("fix to marker", p95_ms=412)."""
    return request.config.measured


def _has_failed(request) -> bool:
    report = getattr(request.node, "report", None)
    return report is not None and report.failed
