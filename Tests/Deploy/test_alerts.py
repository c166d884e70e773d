"""Every alert of deploy/prometheus fires because of a real fault, and clears when the fault is over; a healthy site has none.

The faults are in faults_*.py. Several run at the same time, each on a site of its own; one Prometheus watches all of them
with the shipped rules, sped up 60 times (monitoring.py)."""

import itertools
import re
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

import faults_clients  # noqa: F401  (registers its faults)
import faults_gateways  # noqa: F401
import faults_redis  # noqa: F401
from faults import FAULTS, Fault, Stage
from followers import following
from monitoring import SHIPPED, Monitoring, scaled, shipped_alerts
from order_system import HOME, OrderSystem
from riders import Rider
from trips import to_the_door

# Faults that run at the same time. The longest start first.
AT_ONCE = 7
LONGEST = [
    "redis-hangs-and-is-slow", "the-issuer-is-unavailable", "memory-runs-out", "somebody-else-writes-to-the-ledger",
    "providers-of-arrival-times-fail", "a-certificate-expires"]

# Alerts that no fault here provokes, and why. promtool tests them.
NOT_PROVOKED = {
    "EnrouteTargetsMissing": "a test of its own below, with a Prometheus that has no target",
    "EnrouteClockDrifts": "no process has a clock of its own; ClockComparisonTests pass a difference as a value",
    "EnrouteClockWrong": "the same",
}


@pytest.fixture(scope="module")
def monitoring(tmp_path_factory) -> Monitoring:
    made = Monitoring(tmp_path_factory.mktemp("m"))
    yield made
    made.close()


class Outcomes:
    def __init__(self, of: dict[str, Future], pool: ThreadPoolExecutor, run: Callable[[int, Fault], None]):
        self.of, self._pool, self._run = of, pool, run
        self._runs = itertools.count(len(FAULTS))

    def provoke_again(self, alert: str) -> None:
        """For the second attempt of a test: once for all alerts of a fault."""
        fault = next(fault for fault in FAULTS if alert in fault.alerts)
        failed = self.of[alert]
        if failed.done() and failed.exception():
            again = self._pool.submit(self._run, next(self._runs), fault)
            self.of |= {name: again for name in fault.alerts}


@pytest.fixture(scope="module")
def outcomes(request, monitoring, tmp_path_factory) -> Outcomes:
    """The outcome of each fault by the alerts that it provokes. Only faults of selected tests run."""
    wanted = {item.callspec.params["alert"] for item in request.session.items
              if hasattr(item, "callspec") and "alert" in item.callspec.params}
    folder = tmp_path_factory.mktemp("f")

    def run(number: int, fault: Fault) -> None:
        with Stage(monitoring, folder / str(number), fault.name) as stage:
            begun = time.monotonic()
            try:
                fault.provoke(stage)
            finally:
                monitoring.scrape(stage.job)
                print(f"{fault.name} took {time.monotonic() - begun:.1f} s")

    order = sorted(FAULTS, key=lambda fault: fault.name not in LONGEST)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = {fault: pool.submit(run, number, fault) for number, fault in enumerate(order)
                   if wanted & set(fault.alerts)}
        yield Outcomes({alert: future for fault, future in futures.items() for alert in fault.alerts}, pool, run)


def test_a_healthy_site_has_no_alert(monitoring, tmp_path):
    """The first test, before the faults use the machine's time: a rider, followers, and a restart of one gateway."""
    with Stage(monitoring, tmp_path / "s", "healthy") as stage:
        site = stage.site(gateways=2)
        orders = OrderSystem(site)
        visit = orders.visit("on_the_way")
        rider = Rider(orders, visit).travel()
        stage.callback(rider.close)
        with following(visit) as follower:
            rider.drive(to_the_door(HOME, speed=5), every=1)
            follower.socket.hear(type="location")
            site.gateways[1].process.end()
            site.gateways[1].start()
            monitoring.until(
                lambda: monitoring.query(f'count_over_time(enroute_ready{{job="{stage.job}"}}[1h])')[:1] >= [24],
                "12 s of samples, 12 minutes of the rules")
        assert monitoring.query(f'enroute:deliveries:rate1h{{job="{stage.job}"}}')[0] > 0
        fired = set(monitoring.ever_fired(stage.job))
        monitoring.scrape(stage.job)
    # A machine with other work may not run every event loop in time, and a restart takes longer than a second there.
    assert fired <= {"EnrouteEventLoopLag", "EnrouteGatewayDown"}, fired


@pytest.mark.parametrize("alert", [alert for fault in FAULTS for alert in fault.alerts])
def test_the_alert_fires_because_of_a_real_fault_and_clears_afterwards(request, outcomes, alert):
    if getattr(request.node, "execution_count", 1) > 1:
        outcomes.provoke_again(alert)
    outcomes.of[alert].result()


def test_a_prometheus_without_targets_says_so(tmp_path):
    monitoring = Monitoring(tmp_path / "m", has_alertmanager=False)
    try:
        monitoring.fires("", "EnrouteTargetsMissing")
    finally:
        monitoring.close()


def test_every_alert_has_a_fault_a_rule_test_and_a_complete_rule():
    rules = shipped_alerts()
    provoked = [alert for fault in FAULTS for alert in fault.alerts]
    assert sorted(provoked + list(NOT_PROVOKED)) == sorted(rules), "an alert without fault, or two faults for one"
    tests = "".join(file.read_text() for file in SHIPPED.glob("*.test.yml"))
    for name, rule in rules.items():
        assert f'alertname="{name}"' in tests, f"{name} has no rule test"
        assert name.startswith("Enroute")
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
        assert rule["annotations"]["runbook_url"].endswith(f"/RUNBOOK.md#{name.lower()}")
        assert "$value" in rule["annotations"]["description"] or name == "EnrouteTargetsMissing"


def test_every_metric_of_the_rules_exists(make_site):
    """A misspelled metric would never fire. Series that appear with their first event are declared by their family."""
    site = make_site(is_secure=True)
    exposed = set(re.findall(r"(?m)^# TYPE (\S+) ", site.gateways[0].manage("/metrics")[1]))
    recorded = set(re.findall(r"record: (\S+)", (SHIPPED / "enroute-recording.rules.yml").read_text()))
    for file in SHIPPED.glob("*.rules.yml"):
        for name in set(re.findall(r"\b(?:enroute|process)[_:][a-z0-9_:]+\w", file.read_text())):
            family = re.sub(r"_(bucket|count|sum)$", "", name)
            assert {name, family} & (exposed | recorded), f"{file.name}: {name} is neither a metric nor recorded"


def test_the_transformation_changes_durations_only():
    assert scaled("for: 5m\nx[1h] offset 10m > 30 and [1d]") == "for: 5000ms\nx[60000ms] offset 10000ms > 30 and [1440000ms]"
    assert scaled("for: 1h") == "for: 20000ms"


def test_promtool_finds_nothing_to_improve_in_the_metrics(make_site):
    text = make_site(is_secure=True).gateways[0].manage("/metrics")[1]
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
