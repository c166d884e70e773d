"""The rider's page: the availability switch (RDR-009), tasks and what a rider does with them, on every screen."""

import secrets

import pytest
from playwright.sync_api import expect

from devices import ROME
from rider_page import RiderPage, go_online

LOCATED = {"permissions": ["geolocation"], "geolocation": ROME}


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


def pool(order_system, zone) -> list[str]:
    return [each["rider"] for each in order_system.ask("GET", f"zones/{zone}/riders/available")["riders"]]


# RDR-009


@pytest.mark.lean
def test_rdr_009_ac_01_a_rider_who_goes_online_is_in_the_pool(open_rider, order_system, zone):
    rider = open_rider()
    expect(rider.switch).to_have_attribute("aria-checked", "false")
    expect(rider.switch).to_have_text("Offline")
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    expect(rider.switch).to_have_text("Online")
    assert rider.known["status"] == "online"
    assert pool(order_system, zone) == [rider.person]


def test_rdr_009_ac_01_an_online_phone_with_permission_reports_its_location(open_rider, order_system, zone):
    rider = open_rider(**LOCATED)
    rider.listen()
    rider.switch.click()
    rider.wait_until_answered("presence", "lat")
    near = f"zones/{zone}/riders/available?near={ROME['latitude']},{ROME['longitude']}&radius=500"
    assert [each["rider"] for each in order_system.ask("GET", near)["riders"]] == [rider.person]


def test_rdr_009_ac_01_the_location_is_explained_before_the_browser_asks(open_rider):
    rider = open_rider()
    rider.switch.click()
    expect(rider.panel_says("explaining")).to_contain_text("while you are online")
    assert rider.locations_asked == []
    rider.panel.get_by_role("button", name="Not now").click()
    expect(rider.panel).to_be_hidden()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    assert rider.locations_asked == []


@pytest.mark.lean
def test_rdr_009_ac_02_a_rider_who_goes_offline_leaves_the_pool(open_rider, order_system, zone):
    rider = open_rider(**LOCATED)
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "false")
    expect(rider.switch).to_have_text("Offline")
    assert rider.known["status"] == "offline"
    assert pool(order_system, zone) == []


@pytest.mark.lean
def test_rdr_009_ac_03_a_rider_with_an_active_delivery_cannot_go_offline(open_rider, order_system):
    rider = open_rider(**LOCATED)
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    job = order_system.delivery("accepted", "preparing", "ready_for_pickup", rider=rider.person)
    expect(rider.card(job)).to_be_visible()
    rider.switch.click()
    expect(rider.message).to_contain_text("You cannot go offline during an active delivery")
    expect(rider.message.get_by_role("link", name=job.name)).to_be_visible()
    expect(rider.announcer).to_contain_text("You cannot go offline")
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    assert rider.known["status"] == "online"
    rider.message.get_by_role("link", name=job.name).click()
    expect(rider.card(job).get_by_role("heading")).to_be_focused()
    rider.page.get_by_role("button", name="OK", exact=True).click()
    expect(rider.message).to_be_hidden()


@pytest.mark.lean
def test_rdr_009_ac_04_offline_the_switch_reverts_with_a_message(open_rider):
    rider = open_rider()
    expect(rider.switch).to_have_attribute("aria-checked", "false")
    rider.page.context.set_offline(True)
    rider.switch.click()
    expect(rider.message).to_have_text("Network error. Could not update status.")
    expect(rider.switch).to_have_attribute("aria-checked", "false")
    expect(rider.switch).not_to_have_attribute("aria-busy", "true")
    rider.page.context.set_offline(False)
    assert rider.known["status"] == "offline"


def test_rdr_009_ac_04_after_a_lost_answer_the_page_requests_the_state(open_rider):
    rider = open_rider(**LOCATED)

    def lose(route):
        route.fetch()
        route.abort()

    rider.page.route("**/riders/me/status", lose)
    rider.switch.click()
    expect(rider.message).to_have_text("Network error. Could not update status.")
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    assert rider.known["status"] == "online"


@pytest.mark.lean
def test_rdr_009_ac_05_a_reopened_page_shows_the_gateways_state(open_rider):
    rider = open_rider(**LOCATED)
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    rider.page.context.close()
    again = open_rider(person=rider.person, is_in_zone=False)
    expect(again.switch).to_have_attribute("aria-checked", "true")
    expect(again.switch).to_have_text("Online")


@pytest.mark.lean
def test_point_25_the_switch_is_pending_until_the_gateway_answers(open_rider):
    rider = open_rider(**LOCATED)
    waiting = []
    rider.page.route("**/riders/me/status", lambda route: waiting.append(route))
    with rider.page.expect_request("**/riders/me/status"):
        rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-busy", "true")
    expect(rider.switch).to_have_attribute("aria-checked", "false")
    expect(rider.page.locator("#shift-title")).to_have_text("Going online…")
    rider.switch.click()
    assert len(waiting) == 1
    waiting[0].continue_()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    expect(rider.switch).not_to_have_attribute("aria-busy", "true")
    expect(rider.announcer).to_contain_text("You’re online")


def test_rdr_009_a_rider_who_is_not_approved_reads_so(order_system, devices, zone):
    order_system.ask("PUT", "riders/rider-new", {"zone": zone, "approved": False, "capacity": 1})
    rider = RiderPage(order_system, devices, "rider-new")
    # D31: the switch does not look usable, but answers with the reason.
    expect(rider.switch).to_have_attribute("aria-disabled", "true")
    expect(rider.page.locator("#no-tasks-text")).to_have_text("No tasks yet.")
    rider.switch.dispatch_event("click")
    expect(rider.message).to_contain_text("You’re not approved yet.")
    expect(rider.switch).to_have_attribute("aria-checked", "false")


def test_rdr_009_a_rider_set_offline_by_the_dispatcher_sees_it(open_rider, order_system):
    rider = open_rider(**LOCATED)
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    order_system.ask("PATCH", f"riders/{rider.person}/status", {"status": "offline", "reason": "shift-over"})
    expect(rider.switch).to_have_attribute("aria-checked", "false")


# Tasks


def test_a_delivery_is_taken_from_the_store_to_the_door(open_rider, order_system):
    rider = open_rider(**LOCATED)
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    job = order_system.delivery("accepted", "preparing", rider=rider.person)
    expect(rider.card(job)).to_contain_text("Accepted")
    rider.next(job).click()
    expect(rider.card(job)).to_contain_text("At the store")
    expect(rider.next(job)).to_have_text("Picked up")
    expect(rider.next(job)).to_have_attribute("aria-disabled", "true")
    expect(rider.card(job)).to_contain_text("Not ready yet: Being prepared.")
    job.status("ready_for_pickup")
    expect(rider.next(job)).to_have_attribute("aria-disabled", "false")
    rider.next(job).click()
    expect(rider.next(job)).to_have_text("Start delivery")
    rider.next(job).click()
    expect(rider.next(job)).to_have_text("Hold to complete")
    assert job.state["status"] == "in_transit"
    rider.complete(job)
    expect(rider.card(job)).to_contain_text("Done. You can undo this for 10 seconds.")
    # A rider who switches to another app is done.
    rider.hide(True)
    expect(rider.card(job)).to_contain_text("Done. Thank you!")
    assert job.state["status"] == "delivered"
    assert rider.known["tasks"] == []


def test_a_task_is_returned_with_two_taps(open_rider, order_system):
    rider = open_rider(**LOCATED)
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    job = order_system.delivery("accepted", rider=rider.person)
    rider.card(job).get_by_role("button", name="Return this task").click()
    rider.card(job).get_by_role("button", name="Return it? This can’t be undone.").click()
    expect(rider.card(job)).to_contain_text("is no longer yours")
    assert rider.known["tasks"] == []


def test_d19_a_step_without_a_connection_is_sent_once_it_is_back(open_rider, order_system):
    job = order_system.visit()
    rider = open_rider(job, person=job.rider, is_in_zone=False, **LOCATED)
    expect(rider.next(job)).to_have_text("Set off")
    rider.page.context.set_offline(True)
    rider.next(job).click()
    expect(rider.card(job)).to_contain_text("This will be sent as soon as you’re back online.")
    expect(rider.next(job)).to_have_attribute("aria-busy", "true")
    expect(rider.page.locator("#offline")).to_be_visible()
    rider.page.context.set_offline(False)
    expect(rider.card(job)).to_contain_text("On the way")
    expect(rider.card(job)).not_to_contain_text("This will be sent")
    assert job.state["status"] == "on_the_way"


def test_a_visit_without_a_zone_is_driven_by_its_status(open_rider, order_system):
    job = order_system.visit()
    rider = open_rider(job, person=job.rider, is_in_zone=False, **LOCATED)
    expect(rider.switch).to_be_hidden()
    for words in ("Set off", "Start work"):
        rider.next(job).filter(has_text=words).click()
    rider.complete(job)
    expect(rider.next(job)).to_have_text("Work completed")
    rider.hide(True)
    expect(rider.card(job)).to_contain_text("Done. Thank you!")
    assert job.state["status"] == "completed"


def test_a_reassigned_job_is_removed_with_an_explanation(open_rider, order_system):
    rider = open_rider(**LOCATED)
    other = f"other-{secrets.token_hex(3)}"
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    job = order_system.delivery("accepted", rider=rider.person)
    expect(rider.card(job)).to_be_visible()
    order_system.ask("DELETE", f"jobs/{job.name}/assignment")
    order_system.ask("PUT", f"jobs/{job.name}/assignment", {"rider": other})
    expect(rider.card(job)).to_contain_text("This task was given to another rider.")


def test_a_task_that_comes_back_works_as_before(open_rider, order_system):
    rider = open_rider(**LOCATED)
    other = f"other-{secrets.token_hex(3)}"
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    job = order_system.delivery("accepted", "preparing", rider=rider.person)
    rider.next(job).click()
    expect(rider.next(job)).to_have_text("Picked up")
    job.assign(other, instead_of=rider.person)
    expect(rider.card(job)).to_contain_text("This task was given to another rider.")
    expect(rider.announcer).to_contain_text("This task was given to another rider.")
    job.assign(rider.person, instead_of=other)
    expect(rider.announcer).to_contain_text(f"New task: {job.name}.")
    rider.next(job).filter(has_text="Arrived at store").click()
    job.status("ready_for_pickup")
    expect(rider.next(job)).to_have_text("Picked up")
    expect(rider.next(job)).to_have_attribute("aria-disabled", "false")


def test_a_rider_without_a_zone_reads_that_a_job_was_reassigned(open_rider, order_system):
    job = order_system.visit("on_the_way")
    rider = open_rider(job, person=job.rider, is_in_zone=False)
    expect(rider.next(job)).to_be_visible()
    job.assign("somebody-else", instead_of=job.rider)
    expect(rider.card(job)).to_contain_text("This task was given to another rider.")
    expect(rider.next(job)).to_be_hidden()
    rider.card(job).get_by_role("button", name="OK", exact=True).click()
    expect(rider.card(job)).to_have_count(0)


@pytest.mark.lean
def test_a_new_task_does_not_move_the_focus_or_cancel_a_confirmation(open_rider, order_system, zone):
    person = f"rider-{secrets.token_hex(3)}"
    order_system.approve(person, zone)
    go_online(order_system, person)
    job = order_system.delivery("accepted", rider=person)
    rider = open_rider(person=person, is_in_zone=False, **LOCATED)
    back = rider.card(job).get_by_role("button", name="Return")
    # Some phones do not focus a tapped button.
    back.dispatch_event("click")
    expect(back).to_have_text("Return it? This can’t be undone.")
    expect(back).to_be_focused()
    order_system.visit("on_the_way", rider=person)
    # When it becomes visible again the page requests the tasks immediately.
    rider.hide(False)
    expect(rider.page.locator("#jobs > li")).to_have_count(2)
    expect(back).to_be_focused()
    expect(back).to_have_text("Return it? This can’t be undone.")
    rider.switch.focus()
    expect(back).to_have_text("Return this task")


# Every screen


def test_signing_in_again_keeps_the_content_of_the_page(open_rider, order_system):
    job = order_system.visit()
    rider = open_rider(job, person=job.rider, is_in_zone=False)
    expect(rider.next(job)).to_be_visible()
    order_system.revoke("users", job.rider)
    expect(rider.page.locator("#signin")).to_be_visible()
    expect(rider.card(job)).to_be_visible()


def test_a_person_without_the_rider_role_is_asked_to_sign_in_as_one(order_system, phone):
    page = phone(order_system.sign_in_url("/rider", "customer", "anna"))
    expect(page.locator("#signin")).to_contain_text("This page is for riders.")
    expect(page.locator("#work")).to_be_hidden()


@pytest.mark.lean
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_rider_page_meets_WCAG(open_rider, order_system, zone, axe, dark):
    person = f"rider-{secrets.token_hex(3)}"
    order_system.approve(person, zone)
    go_online(order_system, person)
    order_system.delivery("accepted", "preparing", "ready_for_pickup", rider=person)
    visit = order_system.visit("on_the_way", rider=person)
    rider = open_rider(person=person, is_in_zone=False, dark=dark, **LOCATED)
    axe(rider.page)
    rider.travel(visit).click()
    expect(rider.page.locator("#sharing")).to_be_visible()
    rider.switch.click()
    expect(rider.message).to_be_visible()
    axe(rider.page)


SIZES = """() => [...document.querySelectorAll('button, a, input')].filter((each) => each.checkVisibility())
  .map((each) => ({what: each.id || each.textContent, box: each.getBoundingClientRect()}))
  .filter(({box}) => box.bottom > 0 && (box.width < 44 || box.height < 44)).map(({what}) => what)"""


@pytest.mark.parametrize("locale", ["en-US", "de-DE"])
def test_points_14_and_17_at_320_px_nothing_is_cut_off_or_too_small(open_rider, order_system, locale):
    rider = open_rider(width=320, height=568, locale=locale, **LOCATED)
    rider.switch.click()
    expect(rider.switch).to_have_attribute("aria-checked", "true")
    visit = order_system.visit("on_the_way", rider=rider.person)
    vendor = {"name": "Donaudampfschifffahrtsgesellschaftskantine", "lat": 41.9, "lon": 12.48}
    delivery = order_system.delivery("accepted", rider=rider.person, vendor=vendor)
    expect(rider.navigate(delivery)).to_contain_text(vendor["name"])
    rider.travel(visit).click()
    expect(rider.page.locator("#sharing")).to_be_visible()
    rider.switch.click()
    expect(rider.message).to_be_visible()
    # A phone makes the page wider than the screen instead of cutting it off.
    assert rider.page.evaluate("document.documentElement.scrollWidth") == 320
    assert rider.page.evaluate(SIZES) == []


def test_point_15_everything_can_be_done_by_keyboard(open_rider, order_system):
    rider = open_rider(is_phone=False, width=1280, height=800)
    keyboard = rider.page.keyboard
    expect(rider.switch).to_be_visible()
    rider.switch.focus()
    keyboard.press("Space")
    rider.panel_says("explaining")
    keyboard.press("Escape")
    expect(rider.panel).to_be_hidden()
    expect(rider.switch).to_be_focused()
    job = order_system.visit("on_the_way", rider=rider.person)
    expect(rider.travel(job)).to_be_visible()
    for _ in range(12):
        keyboard.press("Tab")
        if rider.page.evaluate("document.activeElement.id") == f"travel-{job.name}":
            break
    assert rider.page.evaluate("document.activeElement.matches(':focus-visible')")
    keyboard.press("Enter")
    rider.panel_says("explaining")
    keyboard.press("Escape")
    expect(rider.travel(job)).to_be_focused()


def test_the_page_speaks_the_riders_language(open_rider):
    rider = open_rider(words="lang=de")
    expect(rider.page.locator("html")).to_have_attribute("lang", "de")
    expect(rider.page.locator("#shift-title")).to_have_text("Sie sind offline")
    rider.page.get_by_role("button", name="English").click()
    expect(rider.page.locator("#shift-title")).to_have_text("You’re offline")
