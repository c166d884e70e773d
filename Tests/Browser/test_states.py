"""Every state of every page on a phone, a small phone and a desktop, light and dark, English and German: nothing is cut off
and axe finds nothing. A screenshot of each is stored in .build-browser/screens."""

import re
import secrets
import time

import pytest
from playwright.sync_api import Page, expect

from markers import RIDER
from order_system import HOME
from stage import BUILD
from trips import to_the_door

SCREENS = BUILD / "screens"
TRIP = to_the_door(HOME, meters_away=1_500)
VENDOR = {"lat": 41.9102, "lon": 12.4801}
SHOP = {"lat": 41.8942, "lon": 12.4834, "name": "Da Gino", "address": "Via Appia 1"}
PIZZA = {"lat": 41.9001, "lon": 12.4722, "name": "Pizza Pia", "address": "Via Roma 9"}
ORDER = {"orderNumber": "A-17", "items": ["2 pizzas", "1 water"], "note": "Third floor, ring at Rossi."}
ROSSI = {"name": "M. Rossi", "address": "Via Nomentana 3", "floor": "3rd floor", "contact": "tel:+390612345,17"}
LOOKS = {
    "phone-light": {"width": 390, "height": 844, "is_phone": True, "scale": 2},
    "phone-dark": {"width": 390, "height": 844, "is_phone": True, "scale": 2, "dark": True},
    "small-dark": {"width": 320, "height": 568, "is_phone": True, "scale": 2, "dark": True},
    "desktop-light": {"width": 1280, "height": 800},
    "desktop-dark": {"width": 1280, "height": 800, "dark": True},
    "desktop-dark-de": {"width": 1280, "height": 800, "dark": True, "locale": "de-DE"},
}
REFLOWS = "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest.fixture
def look(devices, axe):
    """look(name, url, prepare): checks a state on every device; `prepare(page)` causes it and waits for it,
    `after(page)` undoes what it changed."""

    def look_at(name: str, url, prepare, after=lambda page: None) -> None:
        SCREENS.mkdir(parents=True, exist_ok=True)
        for device, options in LOOKS.items():
            page = devices.open(url() if callable(url) else url, **options)
            prepare(page)
            expect(page.locator("html")).to_have_attribute("lang", options.get("locale", "en")[:2])
            page.screenshot(path=SCREENS / f"{name}-{device}.png")
            assert page.evaluate(REFLOWS), f"{name} on {device} is wider than the screen"
            axe(page)
            after(page)
            # The next device is another phone: of a rider, it would replace this one.
            page.context.close()

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


@pytest.fixture
def courier(order_system):
    """courier(statuses, …): a rider who is online with one delivery for each list of statuses, and the deliveries."""

    def make(*each, vendors=(SHOP,)):
        person, zone = f"rider-{secrets.token_hex(3)}", f"zone-{secrets.token_hex(3)}"
        order_system.approve(person, zone, capacity=5)
        bearer = order_system.token("rider", person)
        order_system.ask("PATCH", "riders/me/status", {"status": "online"}, bearer=bearer)
        jobs = [order_system.delivery("accepted", rider=person, zone=zone, vendor=vendors[at % len(vendors)],
                                      destination=(HOME[0] + at / 300, HOME[1] - at / 400), recipient=ROSSI,
                                      display=ORDER | {"orderNumber": f"A-{17 + at}"})
                for at, _ in enumerate(each)]
        for job, steps in zip(jobs, each):
            for step in steps:
                if step == "picked_up":
                    job.status("preparing", "ready_for_pickup")
                order_system.ask("POST", f"jobs/{job.name}/task", {"state": step}, bearer=bearer)
        return person, jobs

    return make


def signed_in_rider(order_system, person):
    return lambda: order_system.sign_in_url("/rider", "rider", person)


def test_a_couriers_page_with_several_tasks(order_system, courier, look):
    person, jobs = courier([], [], [], vendors=(SHOP, SHOP, PIZZA))

    def listed(page: Page) -> None:
        expect(page.locator("#stops li")).to_have_count(5)
        expect(page.locator("#route-map .stop")).to_have_count(5)

    look("rider-several-tasks", signed_in_rider(order_system, person), listed)


@pytest.mark.parametrize("steps", [[], ["arrived_at_store"], ["arrived_at_store", "picked_up"],
                                   ["arrived_at_store", "picked_up", "in_transit"]],
                         ids=["accepted", "at-the-store", "picked-up", "in-transit"])
def test_a_couriers_page_with_one_task_in_each_state(steps, order_system, courier, look):
    person, [job] = courier(steps)

    def shown(page: Page) -> None:
        expect(page.locator("#jobs .next")).to_be_visible()
        expect(page.locator("#route-map .stop.next")).to_be_visible()

    look(f"rider-{steps[-1] if steps else 'accepted'}", signed_in_rider(order_system, person), shown)


def test_a_couriers_page_under_way_offline_and_with_an_undo(order_system, courier, look):
    steps = ["arrived_at_store", "picked_up", "in_transit"]
    person, [job] = courier(steps)

    def sharing(page: Page) -> None:
        page.context.grant_permissions(["geolocation"])
        page.context.set_geolocation({"latitude": HOME[0] + 0.006, "longitude": HOME[1] - 0.004, "accuracy": 12})
        page.locator(f"#travel-{job.name}").click()
        allow = page.get_by_role("button", name=re.compile("^(Continue|Weiter)$"))
        expect(allow.or_(page.locator("#route-map .me")).first).to_be_visible()
        if allow.is_visible():
            allow.click()
        expect(page.locator("#route-map .me")).to_be_visible()
        expect(page.locator("#sharing")).to_have_attribute("data-state", "on")

    def offline(page: Page) -> None:
        sharing(page)
        page.context.set_offline(True)
        expect(page.locator("#offline")).to_be_visible()

    def undoable(page: Page) -> None:
        page.locator("#jobs .next").press("Enter")
        expect(page.locator("#jobs .undo")).to_be_visible()
        page.locator("#jobs .undo").scroll_into_view_if_needed()

    look("rider-sharing", signed_in_rider(order_system, person), sharing)
    look("rider-offline", signed_in_rider(order_system, person), offline)

    look("rider-undo", signed_in_rider(order_system, person), undoable,
         after=lambda page: page.locator("#jobs .undo").click())


def test_a_riders_page_without_tasks(order_system, courier, look):
    person, _ = courier()
    look("rider-no-tasks", signed_in_rider(order_system, person),
         lambda page: expect(page.locator("#no-tasks")).to_be_visible())


def test_an_operations_page_without_and_with_jobs(order_system, rider, look):
    look("ops-sign-in", "/ops", lambda page: expect(page.locator("#signin")).to_be_visible())
    zone = f"zone-{secrets.token_hex(3)}"
    visits = [order_system.visit("on_the_way", zone=zone) for _ in range(3)]
    for visit in visits[:2]:
        rider(visit).travel().report(TRIP.at(10), is_answered=True)
    look("ops-at-work", lambda: order_system.sign_in_url(f"/ops?zone={zone}", "ops", "ops-1"),
         lambda page: expect(page.locator("#jobs").get_by_text(visits[0].name).first).to_be_visible())


def test_a_dispatchers_desk_with_an_open_job_a_note_and_a_selection(order_system, rider, look):
    zone, now = f"zone-{secrets.token_hex(3)}", int(time.time() * 1000)
    order_system.approve(f"rider-{secrets.token_hex(3)}", zone)
    coming = [order_system.visit("on_the_way", zone=zone, destination=(HOME[0] + at / 90, HOME[1] - at / 70)) for at in range(4)]
    for at, visit in enumerate(coming):
        rider(visit).travel().report(TRIP.at(10 + 40 * at), is_answered=True)
    window = {"window": {"from": now - 3_600_000, "until": now - 12 * 60_000}}
    late = order_system.delivery("accepted", zone=zone, display=window)
    order_system.delivery("accepted", "allocation_failed", zone=zone, rider=None)
    order_system.delivery("accepted", "preparing", "ready_for_pickup", zone=zone, rider=None)
    order_system.ask("PUT", f"jobs/{late.name}/operations-note", {"text": "Kitchen is short of staff.\nCustomer knows."})

    def url(query: str = "") -> str:
        return order_system.sign_in_url(f"/ops?zone={zone}{query}", "ops", "ops-1")

    def listed(page: Page) -> None:
        expect(page.locator("#jobs tbody tr[data-name]")).to_have_count(7)
        expect(page.locator("#queue ol a").first).to_be_visible()

    def opened(page: Page) -> None:
        listed(page)
        expect(page.locator("#note-shown")).to_be_visible()

    def selected(page: Page) -> None:
        listed(page)
        for box in page.locator("#jobs tbody input").all()[:3]:
            box.check()
        page.locator('#bulk [data-bulk="cancel"]').click()
        page.locator("#bulk").scroll_into_view_if_needed()

    look("ops-desk", url, listed)
    look("ops-job", lambda: url(f"&job={late.name}"), opened)
    look("ops-selected", url, selected)
    look("ops-system", lambda: url("&tab=system"), lambda page: expect(page.locator("#gateways li").first).to_be_visible())
