"""A rider who sets off also shares the location (US-072), after the explanation (US-122). A new task is looked for and felt."""

import secrets

import pytest
from playwright.sync_api import expect

from devices import ROME
from followers import following
from rider_page import RiderPage

LOCATED = {"permissions": ["geolocation"], "geolocation": ROME}
FEEL = "navigator.vibrate = (pattern) => (window.felt ??= []).push(pattern)"


@pytest.fixture
def zone():
    return f"zone-{secrets.token_hex(3)}"


@pytest.fixture
def open_rider(order_system, devices, zone):
    """open_rider(job, …): a new rider in a new zone by default."""

    def open_page(*jobs, person=None, is_in_zone=True, **options) -> RiderPage:
        person = person or f"rider-{secrets.token_hex(3)}"
        if is_in_zone:
            order_system.approve(person, zone)
        return RiderPage(order_system, devices, person, *jobs, **options)

    return open_page


@pytest.mark.lean
def test_us_072_setting_off_also_starts_sharing(open_rider, order_system):
    job = order_system.delivery("accepted", "preparing", "ready_for_pickup")
    rider = open_rider(job, person=job.rider, is_in_zone=False, **LOCATED)
    expect(rider.card(job)).to_contain_text("This also starts Travel Mode.")
    rider.next(job).click()
    expect(rider.page.locator("#sharing-text")).to_have_text("Sharing your location")
    expect(rider.travel(job)).to_have_text("Deactivate Travel Mode")
    with following(job) as follower:
        follower.hear_live()


def test_us_122_setting_off_explains_before_the_browser_asks_for_the_location(open_rider, order_system):
    job = order_system.visit()
    rider = open_rider(job, person=job.rider, is_in_zone=False)
    rider.next(job).click()
    panel = rider.panel_says("explaining")
    assert rider.locations_asked == []
    panel.get_by_role("button", name="Not now").click()
    expect(rider.next(job)).to_have_text("Start work")
    assert job.state["status"] == "on_the_way"


def test_a_refused_location_does_not_interrupt_a_rider_who_sets_off(open_rider, order_system):
    job = order_system.visit()
    rider = open_rider(job, person=job.rider, is_in_zone=False)
    rider.deny()
    rider.page.reload()
    expect(rider.next(job)).to_have_text("Set off")
    expect(rider.card(job)).not_to_contain_text("This also starts Travel Mode.")
    rider.next(job).click()
    expect(rider.next(job)).to_have_text("Start work")
    expect(rider.panel).to_be_hidden()


def test_a_new_task_is_felt(open_rider, order_system):
    rider = open_rider(scripts=[FEEL], **LOCATED)
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    job = order_system.delivery("accepted", rider=rider.person)
    expect(rider.announcer).to_contain_text(f"New task: {job.name}.")
    assert rider.page.evaluate("felt") == [[200, 100, 300]]


@pytest.mark.lean
def test_an_online_rider_without_a_task_asks_for_one_every_2_s(open_rider):
    rider = open_rider(clock=True, **LOCATED)
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    clock, answer = rider.page.clock, "**/riders/me"
    # The page looks every 5 s before it knows that the rider waits.
    with rider.page.expect_response(answer):
        rider.pause_time(5_000)
    for _ in range(3):
        with rider.page.expect_response(answer):
            clock.run_for(2_000)
