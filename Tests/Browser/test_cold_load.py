"""How long a customer on a slow mobile network waits who opens a tracking link for the first time: 400 kbit/s, 400 ms of
latency, nothing cached. Chromium emulates the network for HTTP; the socket is as fast as the machine."""

import pytest

from order_system import OrderSystem
from riders import Rider
from trips import Spot, away
from order_system import HOME

BYTES_PER_SECOND = 400_000 / 8
LATENCY_MS = 400
# Of a page in a browser on a machine that runs other tests too.
LIMIT_MS = 3_500
# A machine that runs other tests too delays some loads. One that is in time shows that the page does not wait for more.
MOST_LOADS = 6
CLOCK = """addEventListener('DOMContentLoaded', () => {
  const headline = document.getElementById('headline'), seen = window.seen = {};
  const look = () => {
    if (/on its way/.test(headline.textContent)) seen.status ??= performance.now();
    if (document.querySelector('#map .rider')) seen.rider ??= performance.now();
    else requestAnimationFrame(look);
  };
  look();
});"""


@pytest.mark.lean
def test_a_cold_load_over_a_slow_network_shows_the_order_and_its_rider_in_time(make_site, open_devices, measured):
    site = make_site(PAGES_DIR=None)
    job = OrderSystem(site).delivery("accepted", "preparing", "ready_for_pickup", "in_transit")
    rider = Rider(job.orders, job).travel()
    rider.report(Spot(*away(HOME, 900, 200), 8, 20), is_answered=True)
    loads = []
    for _ in range(MOST_LOADS):
        page = open_devices(site).open(None, width=390, height=844, is_phone=True)
        page.add_init_script(CLOCK)
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", {
            "offline": False, "latency": LATENCY_MS, "downloadThroughput": BYTES_PER_SECOND,
            "uploadThroughput": BYTES_PER_SECOND})
        page.goto(job.guest_url, wait_until="commit")
        page.wait_for_function("() => window.seen?.rider")
        first = page.evaluate("() => performance.getEntriesByName('first-contentful-paint')[0].startTime")
        loads.append({"paint": first} | page.evaluate("() => window.seen"))
        page.context.close()
        if max(loads[-1].values()) < LIMIT_MS:
            break
        rider.report(Spot(*away(HOME, 900, 200), 8, 20), is_answered=True)
    rider.close()
    best = {name: round(min(load[name] for load in loads)) for name in loads[0]}
    measured.note("cold load at 400 kbit/s and 400 ms, ms", **best)
    # The first paint needs no script of the page.
    assert best["paint"] < best["status"] < LIMIT_MS and best["rider"] < LIMIT_MS, loads
