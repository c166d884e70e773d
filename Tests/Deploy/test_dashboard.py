"""The Grafana dashboard: generated, well-formed, and each query returns data from a running site. Grafana itself is not
available here (Debian has no package), so nothing loads the file into it."""

import json
import math
import re
import subprocess
import urllib.parse

import pytest

from faults import tries
from followers import following
from installation import staged
from monitoring import Monitoring, fetch, shipped_alerts
from order_system import HOME, OrderSystem
from riders import Rider
from stage import ROOT
from trips import to_the_door

FOLDER = ROOT / "deploy/grafana"
DASHBOARD = json.loads((FOLDER / "enroute-dashboard.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
# Units that Grafana knows (packages/grafana-data, valueFormats/categories).
UNITS = {"none", "s", "ops", "reqps", "bytes", "percentunit"}


def test_the_dashboard_is_what_generate_writes():
    done = subprocess.run([str(FOLDER / "generate"), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_panels_have_unique_ids_a_description_a_unit_and_do_not_overlap():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids)) > 40
    taken: dict[tuple[int, int], str] = {}
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, f"{panel['title']} overlaps {taken[x, y]}"
                taken[x, y] = panel["title"]
    for panel in PANELS:
        assert panel["description"] and panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        references = [target["refId"] for target in panel["targets"]]
        assert references and len(references) == len(set(references))
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])


def test_links_lead_to_sections_of_the_runbook_and_every_alert_has_a_panel():
    linked = {link["title"].removeprefix("Runbook: ") for panel in PANELS for link in panel["links"]}
    alerts = set(shipped_alerts())
    assert linked <= alerts
    # An alert about Prometheus itself, about followers that missed messages, and one that REST panels show.
    assert alerts - linked <= {"EnrouteTargetsMissing", "EnrouteMessagesFailed"}
    for panel in PANELS:
        for link in panel["links"]:
            assert link["url"].endswith(f"/RUNBOOK.md#{link['title'].removeprefix('Runbook: ').lower()}")


@pytest.fixture(scope="module")
def watched(tmp_path_factory) -> Monitoring:
    """A Prometheus and the job `enroute-dashboard`: a rider, a follower, REST requests."""
    monitoring = Monitoring(tmp_path_factory.mktemp("m"), has_alertmanager=False)
    try:
        with staged(monitoring, tmp_path_factory.mktemp("d"), "dashboard") as stage:
            site = stage.site(gateways=2, is_secure=True)
            orders = OrderSystem(site)
            visit = orders.visit("on_the_way")
            rider = Rider(orders, visit).travel()
            stage.callback(rider.close)
            with following(visit):
                rider.drive(to_the_door(HOME, speed=5), every=0.2)
                monitoring.until(
                    lambda: monitoring.query('enroute:delivery_slow:ratio_rate6h{job="enroute-dashboard"}') == [0]
                    and monitoring.query('enroute:http_requests:rate5m{job="enroute-dashboard"} > bool 1') == [1],
                    "the recording rules", while_=tries(orders, "GET", f"jobs/{visit.name}"))
                yield monitoring
    finally:
        monitoring.close()


def filled(expression: str) -> str:
    return (expression.replace("$job", "enroute-dashboard").replace("$instance", ".*")
            .replace("$__rate_interval", "30s").replace("[1m]", "[5s]"))


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_every_query_of_a_panel_returns_data(watched, panel):
    may_be_empty = "Empty unless" in panel["description"]
    for target in panel["targets"]:
        values = watched.query(filled(target["expr"]))
        assert may_be_empty or values and not all(map(math.isnan, values)), f"{target['expr']} returned {values}"


def test_queries_of_variables_return_data_and_those_of_annotations_are_accepted(watched):
    variables = [variable for variable in DASHBOARD["templating"]["list"] if variable["type"] != "datasource"]
    assert variables and DASHBOARD["annotations"]["list"]
    for variable in variables:
        selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"]).groups()
        matching = urllib.parse.urlencode({"match[]": filled(selector)})
        found = fetch(f"http://127.0.0.1:{watched.port}/api/v1/label/{label}/values?{matching}")["data"]
        assert found, variable["query"]["query"]
    for annotation in DASHBOARD["annotations"]["list"]:
        # Without alerts and restarts they are empty.
        watched.samples(filled(annotation["expr"]))
