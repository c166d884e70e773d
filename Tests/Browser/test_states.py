"""Every state of every page on a phone, a small phone and a desktop, light and dark, English and German: nothing is cut off
and axe finds nothing. A screenshot of each is stored in .build-browser/screens."""

import secrets

import pytest
from playwright.sync_api import Page, expect

from markers import RIDER
from order_system import HOME
from stage import BUILD
from trips import to_the_door

SCREENS = BUILD / "screens"
TRIP = to_the_door(HOME, meters_away=1_500)
VENDOR = {"lat": 41.9102, "lon": 12.4801}
LOOKS = {
    "phone-light": {"width": 390, "height": 844, "is_phone": True, "scale": 2},
    "small-dark": {"width": 320, "height": 568, "is_phone": True, "scale": 2, "dark": True},
    "desktop-light": {"width": 1280, "height": 800},
    "desktop-dark-de": {"width": 1280, "height": 800, "dark": True, "locale": "de-DE"},
}
REFLOWS = "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest.fixture
def look(devices, axe):
    """look(name, url, prepare): checks a state on every device; `prepare(page)` brings it about and waits for it."""

    def look_at(name: str, url, prepare) -> None:
        SCREENS.mkdir(parents=True, exist_ok=True)
        for device, options in LOOKS.items():
            page = devices.open(url() if callable(url) else url, **options)
            prepare(page)
            expect(page.locator("html")).to_have_attribute("lang", options.get("locale", "en")[:2])
            page.screenshot(path=SCREENS / f"{name}-{device}.png")
            assert page.evaluate(REFLOWS), f"{name} on {device} is wider than the screen"
            axe(page)

    return look_at


def headline_is_there(page: Page) -> None:
    expect(page.locator("#steps li").first).to_be_visible()


# The customer's page


@pytest.mark.parametrize("kind, statuses", [
    ("delivery", []), ("delivery", ["accepted", "preparing"]),
    ("delivery", ["accepted", "preparing", "allocation_failed"]), ("service", []),
    ("service", ["on_the_way"]), ("service", ["on_the_way", "work_in_progress"]),
], ids=lambda value: value if isinstance(value, str) else (value[-1] if value else "first"))
def test_a_customers_page_in_each_status(kind, statuses, order_system, look):
    job = (order_system.visit if kind == "service" else order_system.delivery)(*statuses)
    look(f"customer-{kind}-{statuses[-1] if statuses else 'first'}", job.guest_url, headline_is_there)


@pytest.mark.parametrize("last", [["cancelled"], ["on_the_way", "work_in_progress", "completed"]],
                         ids=["cancelled", "completed"])
def test_a_customers_page_of_an_ended_job(last, order_system, look):
    visit = order_system.visit(*last)
    look(f"customer-{last[-1]}", lambda: signed_in(order_system, visit), headline_is_there)


def signed_in(order_system, visit) -> str:
    """A link ends with its job, but the signed-in customer still sees it."""
    return order_system.sign_in_url(f"/track/{visit.name}", "customer", visit.customer)


def test_a_customers_page_with_a_rider_in_each_tracking_state(order_system, rider, look):
    visit = order_system.visit("on_the_way", vendor=VENDOR)
    driver = rider(visit).travel()
    driver.report(TRIP.at(20), is_answered=True)

    def on_the_map(page: Page) -> None:
        driver.report(TRIP.at(20))
        expect(page.locator(RIDER)).to_be_visible()
        expect(page.locator("#eta")).not_to_be_empty()

    def offline(page: Page) -> None:
        on_the_map(page)
        page.context.set_offline(True)
        expect(page.locator("#offline")).to_be_visible()

    look("customer-live", visit.guest_url, on_the_map)
    look("customer-offline", visit.guest_url, offline)
    driver.stop_travel()
    look("customer-paused", visit.guest_url, headline_is_there)


def test_a_customers_page_that_is_refused(order_system, look):
    look("customer-refused", f"/track/nobody#{'0' * 32}", lambda page: expect(page.locator("#refusal")).to_be_visible())
    look("customer-sign-in", "/track/nobody",
         lambda page: expect(page.locator("#signin, #refusal").first).to_be_visible())


# The rider's and the operations' page


def test_a_riders_page_offline_and_at_work(order_system, look):
    look("rider-sign-in", "/rider", lambda page: expect(page.locator("#signin")).to_be_visible())
    person = f"rider-{secrets.token_hex(3)}"
    order_system.approve(person, f"zone-{secrets.token_hex(3)}")
    bearer = order_system.token("rider", person)
    order_system.ask("PATCH", "riders/me/status", {"status": "online"}, bearer=bearer)
    order_system.ask("PUT", "riders/me/presence", {"lat": HOME[0], "lon": HOME[1]}, bearer=bearer)
    job = order_system.visit("on_the_way", vendor=VENDOR, rider=person)

    def url() -> str:
        return order_system.sign_in_url(f"/rider?job={job.name}", "rider", person)

    def at_work(page: Page) -> None:
        expect(page.locator("#availability")).to_be_visible()
        expect(page.locator(f"#travel-{job.name}")).to_be_visible()

    def explaining(page: Page) -> None:
        at_work(page)
        page.locator(f"#travel-{job.name}").click()
        expect(page.locator("#permission")).to_be_visible()

    look("rider-at-work", url, at_work)
    look("rider-explaining", url, explaining)


def test_an_operations_page_without_and_with_jobs(order_system, rider, look):
    look("ops-sign-in", "/ops", lambda page: expect(page.locator("#signin")).to_be_visible())
    zone = f"zone-{secrets.token_hex(3)}"
    visits = [order_system.visit("on_the_way", zone=zone) for _ in range(3)]
    for visit in visits[:2]:
        rider(visit).travel().report(TRIP.at(10), is_answered=True)
    look("ops-at-work", lambda: order_system.sign_in_url(f"/ops?zone={zone}", "ops", "ops-1"),
         lambda page: expect(page.locator("#jobs").get_by_text(visits[0].name).first).to_be_visible())
