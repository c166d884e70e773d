"""How long a customer waits who opens a tracking link for the first time on a slow mobile network: 400 kbit/s, 400 ms
of latency, nothing cached. Chromium emulates the network for HTTP; the socket is as fast as the machine."""

import pytest

from order_system import OrderSystem
from riders import Rider
from trips import Spot, away
from order_system import HOME

BYTES_PER_SECOND = 400_000 / 8
LATENCY_MS = 400
LIMIT_MS = 3_500
# A machine that runs other tests too delays some loads. One that is in time shows that the page does not wait for more.
MOST_LOADS = 6
# The document, then everything that it references, then the scripts' requests: each wave costs a round trip.
MOST_WAVES = 3
WAVES = """(until) => {
  const requests = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .map(({name, startTime, responseEnd}) => ({name, start: startTime, end: responseEnd}))
    .filter(({start, end}) => end > 0 && start < until)
    .sort((one, other) => one.start - other.start);
  for (const request of requests)
    request.wave = 1 + Math.max(0, ...requests.filter(({end}) => end <= request.start).map(({wave}) => wave));
  return requests.map(({name, wave}) => ({name: new URL(name).pathname, wave}));
}"""
CLOCK = """addEventListener('DOMContentLoaded', () => {
  const headline = document.getElementById('headline'), seen = window.seen = {};
  const look = () => {
    if (/on its way/.test(headline.textContent)) seen.status ??= performance.now();
    if (document.querySelector('#map .rider')) seen.rider ??= performance.now();
    else requestAnimationFrame(look);
  };
  look();
});"""


@pytest.fixture
def load(make_site, open_devices):
    """load(): a first load over the slow network, in a browser context of its own: `{paint, status, rider, requests}`, in ms."""
    site = make_site(PAGES_DIR=None)
    job = OrderSystem(site).delivery("accepted", "preparing", "ready_for_pickup", "in_transit")
    rider = Rider(job.orders, job).travel()

    def load_once():
        rider.report(Spot(*away(HOME, 900, 200), 8, 20), is_answered=True)
        page = open_devices(site).open(None, width=390, height=844, is_phone=True)
        page.add_init_script(CLOCK)
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", {
            "offline": False, "latency": LATENCY_MS, "downloadThroughput": BYTES_PER_SECOND,
            "uploadThroughput": BYTES_PER_SECOND})
        page.goto(job.guest_url, wait_until="commit")
        page.wait_for_function("() => window.seen?.rider")
        seen = page.evaluate("() => window.seen")
        seen["paint"] = page.evaluate("() => performance.getEntriesByName('first-contentful-paint')[0].startTime")
        seen["requests"] = page.evaluate(WAVES, seen["rider"])
        page.context.close()
        return seen

    yield load_once
    rider.close()


@pytest.mark.lean
def test_a_cold_load_paints_before_any_script_and_shows_the_rider_after_few_round_trips(load):
    fewest = None
    for _ in range(MOST_LOADS):
        seen = load()
        # The first paint needs no script of the page.
        assert seen["paint"] < seen["status"] <= seen["rider"], seen
        waves = max(request["wave"] for request in seen["requests"])
        if fewest is None or waves < fewest[0]:
            fewest = waves, seen["requests"]
        if waves <= MOST_WAVES:
            break
    assert fewest[0] <= MOST_WAVES and len(fewest[1]) > MOST_WAVES, fewest


@pytest.mark.measures
def test_a_cold_load_over_a_slow_network_shows_the_order_and_its_rider_in_time(load, measured):
    loads = []
    for _ in range(MOST_LOADS):
        loads.append({name: value for name, value in load().items() if name != "requests"})
        if max(loads[-1].values()) < LIMIT_MS:
            break
    best = {name: round(min(load[name] for load in loads)) for name in loads[0]}
    measured.note("cold load at 400 kbit/s and 400 ms, ms", **best)
    assert max(best.values()) < LIMIT_MS, loads
