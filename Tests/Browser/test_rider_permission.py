"""Travel mode and its permission (US-122), and what a rider reads while the location is shared (US-072). A spy between the
page and the browser shows that the location is not requested before the rider's consent."""

import re

import pytest
from playwright.sync_api import expect

import bounds
from devices import ROME
from followers import following
from order_system import OrderSystem
from rider_page import ANDROID, INSECURE, IPHONE, RiderPage

LOCATED = {"permissions": ["geolocation"], "geolocation": ROME}
FIREFOX = "Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0"
ACTIVATE = "Activate Travel Mode"
DEACTIVATE = "Deactivate Travel Mode"

# Every text that `#rate` has from now on.
RECORD_RATES = """() => {
  const [place, rates] = [document.getElementById('rate'), window.rates = []];
  new MutationObserver(() => rates.push(place.textContent)).observe(place, {childList: true, characterData: true, subtree: true});
}"""


@pytest.fixture
def job(order_system):
    """A visit whose rider is on the way and has no zone."""
    return order_system.visit("on_the_way")


@pytest.fixture
def open_rider(order_system, devices, job):
    def open_page(**options) -> RiderPage:
        rider = RiderPage(order_system, devices, job.rider, job, **options)
        expect(rider.travel(job)).to_have_text(ACTIVATE)
        return rider

    return open_page


def is_live(rider: RiderPage, job) -> None:
    expect(rider.travel(job)).to_have_text(DEACTIVATE)
    with following(job) as follower:
        follower.hear_live()


# US-122


@pytest.mark.lean
def test_us_122_ac_001_the_first_activation_explains_asks_and_shares(open_rider, job):
    rider = open_rider()
    rider.travel(job).click()
    panel = rider.panel_says("explaining")
    expect(panel).to_contain_text("Travel Mode shows your customer where you are")
    expect(panel).to_contain_text("“While using” is enough – we never need more.")
    assert rider.locations_asked == []
    rider.hold_question()
    panel.get_by_role("button", name="Continue").click()
    rider.panel_says("asking")
    assert rider.locations_asked == ["getCurrentPosition"]
    assert job.state["tracking"] == "waiting"
    rider.answer_question(is_yes=True)
    expect(rider.panel).to_be_hidden()
    is_live(rider, job)


@pytest.mark.lean
def test_us_122_ac_001_later_activations_ask_nothing(open_rider, job):
    rider = open_rider(**LOCATED)
    for _ in range(2):
        rider.travel(job).click()
        expect(rider.travel(job)).to_have_text(DEACTIVATE)
        expect(rider.panel).to_be_hidden()
        rider.travel(job).click()
        expect(rider.travel(job)).to_have_text(ACTIVATE)
    assert job.state["tracking"] == "paused"


@pytest.mark.lean
def test_us_122_ac_002_a_refusal_leaves_travel_mode_off_and_shows_how_to_allow_it(open_rider, job, axe):
    rider = open_rider()
    panel = rider.refuse(job)
    expect(panel).to_contain_text("Travel Mode needs your location, so it wasn’t activated.")
    expect(panel.get_by_role("listitem").first).to_be_visible()
    axe(rider.page)
    panel.get_by_role("button", name="OK").click()
    expect(rider.travel(job)).to_have_text(ACTIVATE)
    assert job.state["tracking"] == "waiting"


@pytest.mark.lean
def test_us_122_ac_003_after_a_refusal_the_browser_does_not_ask_again(open_rider, job):
    rider = open_rider()
    rider.refuse(job).get_by_role("button", name="OK").click()
    asked = rider.locations_asked
    for _ in range(3):
        rider.travel(job).click()
        rider.panel_says("refused").get_by_role("button", name="OK").click()
        expect(rider.panel).to_be_hidden()
    rider.travel(job).click()
    rider.panel_says("refused").get_by_role("button", name="I have allowed it").click()
    expect(rider.panel).to_contain_text("Your browser still blocks it.")
    assert rider.locations_asked == asked
    rider.page.reload()
    rider.travel(job).click()
    rider.panel_says("refused")
    assert rider.locations_asked == []


@pytest.mark.parametrize("agent, step", [
    (ANDROID, "Tap “Permissions”, then “Location”"),
    (IPHONE, "While Using the App"),
    (ANDROID.replace("Chrome/126", "SamsungBrowser/25.0 Chrome/121"), "Tap the lock to the left of the address"),
    (FIREFOX, "Tap “Location” until it shows “Allowed”"),
], ids=["chrome", "safari", "samsung", "firefox"])
def test_us_122_ac_003_the_steps_to_the_settings_match_the_browser(open_rider, job, agent, step):
    rider = open_rider(user_agent=agent)
    expect(rider.refuse(job).locator("ol")).to_contain_text(step)


@pytest.mark.lean
def test_us_122_ac_004_and_d20_a_revoked_permission_counts_as_refused_and_allowing_it_starts_travel_mode(open_rider, job):
    rider = open_rider(**LOCATED)
    rider.travel(job).click()
    is_live(rider, job)
    rider.travel(job).click()
    expect(rider.travel(job)).to_have_text(ACTIVATE)
    rider.deny()
    asked = rider.locations_asked
    rider.travel(job).click()
    rider.panel_says("refused")
    assert rider.locations_asked == asked
    # Allowed in the settings, travel mode starts as the rider wanted.
    rider.allow()
    expect(rider.panel).to_be_hidden()
    is_live(rider, job)


def test_us_122_a_permission_revoked_while_travelling_interrupts_with_an_explanation(open_rider, job):
    rider = open_rider(**LOCATED)
    rider.travel(job).click()
    is_live(rider, job)
    rider.deny()
    panel = rider.panel_says("revoked")
    expect(panel).to_contain_text("Your location is no longer shared, and your customer can see that.")
    asked = rider.locations_asked
    panel.get_by_role("button", name="OK").click()
    expect(rider.travel(job)).to_have_attribute("data-state", "interrupted")
    expect(rider.page.locator("#sharing-text")).to_have_text("Travel Mode is interrupted")
    assert rider.locations_asked == asked
    rider.allow()
    expect(rider.travel(job)).to_have_attribute("data-state", "on")


@pytest.mark.lean
def test_us_122_after_a_revocation_the_page_says_live_only_when_new_readings_are_confirmed(open_rider, job):
    rider = open_rider(has_wire=True, **LOCATED)
    rate = rider.page.locator("#rate")
    rider.travel(job).click()
    expect(rate).to_contain_text("Live")
    rider.deny()
    rider.panel_says("revoked").get_by_role("button", name="OK").click()
    expect(rate).not_to_contain_text("Live")
    rider.page.evaluate(RECORD_RATES)
    # Confirmations of readings from before the revocation, which were still on their way.
    for _ in range(2):
        rider.wire.say("ok", replyTo="location", job=job.name)
    rider.page.evaluate("new Promise(requestAnimationFrame)")
    expect(rate).not_to_contain_text("Live")
    rider.allow()
    expect(rate).to_contain_text("Finding your location")
    rider.move(41.8903, 12.4803)
    expect(rate).to_contain_text("Live")
    rates = rider.page.evaluate("rates")
    assert [text for text in rates if "Live" in text] == rates[-1:], rates
    assert rates[-2].startswith("Finding your location"), rates


def test_us_122_a_dismissed_question_is_repeated_only_when_the_rider_asks(open_rider, job):
    rider = open_rider()
    rider.page.evaluate("spy.failsWith = 1")
    rider.travel(job).click()
    rider.panel_says("explaining").get_by_role("button", name="Continue").click()
    rider.panel_says("dismissed").get_by_role("button", name="Not now").click()
    rider.travel(job).click()
    panel = rider.panel_says("dismissed")
    assert rider.locations_asked == ["getCurrentPosition"]
    panel.get_by_role("button", name="Ask again").click()
    rider.page.wait_for_function("() => spy.calls.length === 2")


def test_us_122_location_switched_off_on_the_device_is_explained(open_rider, job, axe):
    rider = open_rider(user_agent=ANDROID, **LOCATED)
    rider.page.evaluate("spy.failsWith = 1")
    rider.travel(job).click()
    panel = rider.panel_says("services")
    expect(panel).to_contain_text("Switch on location services")
    expect(panel).to_contain_text("Swipe down from the top of the screen")
    axe(rider.page)
    rider.page.evaluate("spy.failsWith = null")
    panel.get_by_role("button", name="Try again").click()
    is_live(rider, job)


def test_us_122_an_insecure_page_says_so_and_does_not_ask(open_rider, job):
    rider = open_rider(scripts=[INSECURE])
    rider.travel(job).click()
    expect(rider.panel_says("insecure")).to_contain_text("This page is not secure")
    assert rider.locations_asked == []


def test_us_122_a_browser_without_location_says_so(open_rider, job):
    rider = open_rider(scripts=["delete Navigator.prototype.geolocation"])
    rider.travel(job).click()
    rider.panel_says("unsupported")


def test_us_122_br_001_without_consent_the_page_never_locates_the_rider(open_rider, job):
    rider = open_rider()
    rider.travel(job).click()
    rider.panel_says("explaining").get_by_role("button", name="Not now").click()
    rider.page.reload()
    rider.travel(job).click()
    rider.panel_says("explaining")
    rider.page.keyboard.press("Escape")
    expect(rider.panel).to_be_hidden()
    expect(rider.travel(job)).to_be_focused()
    assert rider.locations_asked == []


# US-072 for the rider


def test_us_072_ac_002_the_phones_location_reaches_the_gateway(open_rider, job):
    rider = open_rider(**LOCATED)
    rider.travel(job).click()
    is_live(rider, job)
    with following(job) as follower:
        rider.move(41.8902, 12.4802)
        follower.hear_place(41.8902)
    expect(rider.page.locator("#sharing-text")).to_have_text("Sharing your location")
    expect(rider.page.locator("#rate")).to_contain_text("Live")


def test_us_072_ac_002_the_page_reports_as_often_as_the_gateway_asks(open_rider, job):
    """In each second of the page's time the phone is somewhere else."""
    rider = open_rider(clock=True, has_wire=True, **LOCATED)
    rider.travel(job).click()
    expect(rider.travel(job)).to_have_text(DEACTIVATE)
    rider.listen()
    for seconds in (5, 2):
        rider.wire.rate(seconds)
        expect(rider.page.locator("#rate")).to_have_attribute("data-interval-seconds", str(seconds))
        begun = rider.now_ms
        for step in range(4 * seconds):
            seen = rider.page.evaluate("spy.readings")
            rider.move(41.89 + (step + 1) / 10_000, 12.48 + seconds / 1_000)
            rider.page.wait_for_function("(seen) => spy.readings > seen", arg=seen)
            rider.page.clock.run_for(1_000)
        times = [each["at"] for each in rider.said("location") if each["at"] >= begun]
        assert 4 <= len(times) <= 1 + (rider.now_ms - begun) // (1_000 * seconds), times
        gaps = [later - earlier for earlier, later in zip(times, times[1:])]
        assert min(gaps) >= 1_000 * seconds, f"{seconds} s were asked for, between reports were {gaps} ms"


@pytest.mark.lean
def test_us_072_ac_003_arriving_ends_location_sharing(open_rider, job):
    rider = open_rider(**LOCATED)
    rider.travel(job).click()
    is_live(rider, job)
    rider.next(job).click()
    expect(rider.card(job)).to_contain_text("Work in progress")
    expect(rider.page.locator("#sharing")).to_be_hidden()
    assert job.state["position"] is None


def test_us_072_br_002_the_rider_reads_that_the_sharing_time_is_over(make_site, open_devices):
    site = make_site(TRACKING_MAX_SHARING_SECONDS=5)
    orders = OrderSystem(site)
    job = orders.visit("on_the_way")
    rider = RiderPage(orders, open_devices(site), job.rider, job, **LOCATED)
    rider.travel(job).click()
    expect(rider.card(job)).to_contain_text("Travel Mode stopped: it reached its time limit.")
    expect(rider.travel(job)).to_have_text(ACTIVATE)


def test_us_072_ac_005_a_hidden_page_reports_why_no_location_arrives(open_rider, job):
    rider = open_rider(**LOCATED)
    rider.listen()
    rider.travel(job).click()
    is_live(rider, job)
    expect(rider.page.locator("#sharing")).to_contain_text("Your location isn’t shared in the background.")
    rider.hide(True)
    assert "hidden" in rider.unavailable_reasons
    rider.hide(False)
    expect(rider.page.locator("#sharing-note")).to_have_text(
        "Your location wasn’t shared while this page was in the background.")


def test_us_072_a_low_battery_is_shown_to_the_rider_and_reported(open_rider, job):
    battery = """navigator.getBattery = async () => window.battery ??= Object.assign(new EventTarget(),
      {charging: false, level: 0.5})"""
    rider = open_rider(scripts=[battery], **LOCATED)
    rider.listen()
    rider.travel(job).click()
    is_live(rider, job)
    rider.page.evaluate("battery.level = 0.04; battery.dispatchEvent(new Event('levelchange'))")
    expect(rider.page.locator("#sharing-note")).to_contain_text("Battery at 4%")
    assert "low_battery" in rider.unavailable_reasons
    rider.move(41.8901, 12.4801)
    rider.page.wait_for_function(
        "() => spy.sent.some(({message}) => message.type === 'location' && message.battery === 0.04)")


@pytest.mark.lean
def test_point_25_travel_mode_survives_leaving_the_page(open_rider, job):
    rider = open_rider(**LOCATED)
    rider.travel(job).click()
    is_live(rider, job)
    rider.page.reload()
    expect(rider.travel(job)).to_have_attribute("data-state", "on")
    expect(rider.panel).to_be_hidden()


@pytest.mark.lean
def test_travel_mode_continues_after_a_network_failure(open_rider, job):
    rider = open_rider(**LOCATED)
    rider.travel(job).click()
    is_live(rider, job)
    rider.page.context.set_offline(True)
    expect(rider.page.locator("#offline")).to_be_visible()
    rider.page.context.set_offline(False)
    expect(rider.page.locator("#offline")).to_be_hidden()
    # A phone at rest is not believed to be elsewhere because of one reading, so it reports two.
    rider.listen()
    rider.move(41.89029, 12.4803)
    rider.page.wait_for_function("() => spy.sent.some(({message}) => message.type === 'location')")
    with following(job) as follower:
        rider.move(41.8903, 12.4803)
        # 33 m in an instant; the marker may be a third of that off.
        follower.hear_place(41.8903, within=1e-4)


def test_activating_travel_mode_offline_shows_an_error(open_rider, job):
    rider = open_rider(**LOCATED)
    rider.page.context.set_offline(True)
    expect(rider.page.locator("#offline")).to_be_visible()
    rider.travel(job).click()
    expect(rider.card(job)).to_contain_text("Network error. Travel Mode was not changed.", timeout=bounds.PAGE_MS)
    expect(rider.travel(job)).to_have_text(ACTIVATE)
