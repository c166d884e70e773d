"""Defects of the pages that only a browser shows. Each test name starts with the number of the defect;
most others have a unit test in Tests/JavaScript."""

import re

import pytest
from playwright.sync_api import expect

from markers import RIDER
from wire import Wire


def test_d6_a_link_opened_after_the_delivery_shows_that_and_when_it_was_delivered(order_system, phone, small_phone, axe):
    delivery = order_system.delivery("accepted", "preparing", "ready_for_pickup", "in_transit",
                                     vendor={"name": "Da Gino"})
    url = delivery.guest_url
    delivery.status("delivered")
    for page in (phone(url), small_phone(url, locale="de-DE")):
        expect(page.locator("#headline")).to_have_text(re.compile("^(Delivered|Geliefert)$"))
        expect(page.locator("#steps [aria-current=step] .state")).to_have_text(re.compile(r"^(At|Um) \d+:\d\d"))
        expect(page.locator("#vendor")).to_have_text("Da Gino")
        expect(page.locator("#tracking")).to_be_hidden()
        # The refused session ends later and changes nothing.
        page.wait_for_function("() => performance.now() - (window.waitsSince ??= performance.now()) > 1500")
        expect(page.locator("#refusal")).to_be_hidden()
        expect(page.locator("#offline")).to_be_hidden()
        axe(page)


def test_an_open_page_of_a_link_keeps_showing_how_the_job_ended(order_system, phone):
    delivery = order_system.delivery("accepted", "preparing", "ready_for_pickup", "in_transit",
                                     vendor={"name": "Da Gino"})
    page = phone(delivery.guest_url)
    expect(page.locator("#headline")).to_be_visible()
    delivery.status("delivered")
    expect(page.locator("#headline")).to_have_text(re.compile("^Delivered"))
    # The gateway closes the session of the link, which changes nothing.
    page.wait_for_function("() => performance.now() - (window.waitsSince ??= performance.now()) > 3000")
    expect(page.locator("#headline")).to_have_text(re.compile("^Delivered"))
    expect(page.locator("#refusal")).to_be_hidden()
    expect(page.locator("#offline")).to_be_hidden()


def test_d14_after_a_change_of_the_rider_everybody_reads_that_another_one_is_coming(coming, phone):
    delivery, _ = coming(kind="delivery")
    page = phone(delivery.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    delivery.assign(f"another-{delivery.rider}", instead_of=delivery.rider)
    expect(page.locator("#tracking")).to_be_hidden()
    expect(page.locator("#detail")).to_have_text(
        "A different rider is bringing your order. The map returns when they set off.")
    # The gateway's next snapshot only states that no location is shared.
    page.wait_for_function("() => performance.now() - (window.waitsSince ??= performance.now()) > 2000")
    expect(page.locator("#detail")).to_have_text(re.compile("^A different rider"))


def test_d16_a_rider_who_is_still_far_away_after_the_expected_arrival_is_late(coming, phone):
    visit, _ = coming()
    page = phone()
    wire = Wire(page)
    page.goto(visit.guest_url)
    wire.arrival(visit.name, 1.2)
    expect(page.locator("#eta")).to_have_text("Arriving in 1 min")
    wire.arrival(visit.name, -4)
    expect(page.locator("#eta")).to_have_text("Running late – sorry!")
    expect(page.locator("#map-description")).to_have_text(re.compile("away.$"))


LANDMARKS = ("page-has-heading-one", "region", "landmark-unique", "landmark-one-main", "document-title")


@pytest.mark.parametrize(("path", "title"), [
    ("/track/nothing", "Sign in to see your order or visit"), ("/rider", "Your tasks"), ("/ops", "Operations")])
def test_d28_the_sign_in_panel_has_a_title_a_heading_and_landmarks(path, title, phone, axe):
    page = phone(path)
    expect(page.locator("#signin")).to_be_visible()
    expect(page).to_have_title(title)
    axe(page, LANDMARKS)


def test_d28_the_banner_and_the_operations_page_have_landmarks(order_system, coming, phone, desktop, axe):
    visit, _ = coming()
    page = phone(visit.guest_url)
    expect(page.locator(RIDER)).to_be_visible()
    page.context.set_offline(True)
    expect(page.locator("#offline")).to_be_visible()
    axe(page, LANDMARKS)
    operations = desktop(order_system.sign_in_url(f"/ops?job={visit.name}", "ops", "anna"))
    expect(operations.locator("#job")).to_be_visible()
    for card in ("gateways", "verdicts", "audit"):
        expect(operations.locator(f"#{card} h2")).to_be_visible()
    axe(operations, LANDMARKS)


# Chrome denies storage to every page if somebody blocks all cookies, and to frames of other sites.
WITHOUT_STORAGE = """for (const name of ['sessionStorage', 'localStorage']) {
  Object.defineProperty(window, name, {get() { throw new DOMException('Access is denied.', 'SecurityError'); }});
}"""


@pytest.mark.lean
@pytest.mark.parametrize("path, role, selector", [
    ("/rider", "rider", "#work h1"), ("/ops?zone=-", "ops", "#jobs thead"), ("/track/{job}", "customer", "#headline"),
])
def test_every_page_works_without_storage_and_stays_signed_in_in_another_language(
        order_system, devices, path, role, selector):
    job = order_system.delivery("accepted")
    person = job.customer if role == "customer" else f"{role}-without-storage"
    page = devices.phone()
    page.add_init_script(WITHOUT_STORAGE)
    page.goto(order_system.sign_in_url(path.format(job=job.name), role, person))
    expect(page.locator(selector).first).to_be_visible()
    expect(page.locator("#rescue")).to_have_count(0)
    page.locator("#language").click()
    expect(page.locator("html[lang=de][data-ready]")).to_have_count(1)
    expect(page.locator(selector).first).to_be_visible()
    expect(page.locator("#signin")).to_be_hidden()
    assert page.evaluate("history.state") is None
