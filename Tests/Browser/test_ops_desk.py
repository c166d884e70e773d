"""The operations page: what needs attention, what can be done about it, and saved views."""

import re
import secrets
import time

import pytest
from playwright.sync_api import expect

from order_system import HOME
from test_ops import ROWS, look, row, say, zone  # noqa: F401
from trips import away


@pytest.fixture
def available(order_system, zone):  # noqa: F811
    """available(): a rider of the zone who may get a task."""

    def make(capacity: int = 2) -> str:
        person = f"rider-{secrets.token_hex(3)}"
        order_system.approve(person, zone=zone, capacity=capacity)
        bearer = order_system.token("rider", person)
        order_system.ask("PATCH", "riders/me/status", {"status": "online"}, bearer=bearer)
        return person

    return make


def action(page, name):
    return page.locator(f"#job [data-action={name}]")


def bulk(page, name):
    return page.locator(f'#bulk [data-bulk="{name}"]')


@pytest.mark.lean
def test_d23_the_queue_lists_what_needs_somebody_and_new_cases_are_announced(
    order_system, look, zone, axe  # noqa: F811
):
    now = int(time.time() * 1000)
    order_system.delivery("accepted", zone=zone)
    late = order_system.delivery(
        "accepted", zone=zone, display={"window": {"from": now - 3_600_000, "until": now - 12 * 60_000}})
    alone = order_system.delivery("accepted", "preparing", "ready_for_pickup", zone=zone, rider=None)
    page = look(f"?zone={zone}")
    entries = page.locator("#queue ol a")
    expect(entries).to_have_count(2)
    expect(entries.nth(0)).to_contain_text(alone.name)
    expect(entries.nth(0)).to_contain_text("No rider")
    expect(entries.nth(1)).to_contain_text("Running late")
    expect(row(page, late).locator(".c-due")).to_have_text(re.compile(r"1[23] min late"))
    expect(page).to_have_title("(2) Operations")
    failed = order_system.delivery("accepted", "allocation_failed", zone=zone)
    expect(page.locator("#announcer")).to_contain_text(f"{failed.name} needs attention: No rider found.")
    expect(entries.nth(0)).to_contain_text(failed.name)
    entries.nth(2).click()
    expect(page.locator("#job h2")).to_have_text(late.name)
    expect(page.locator("#job")).to_contain_text("Promised by")
    axe(page)


@pytest.mark.lean
def test_a_job_is_assigned_reassigned_and_taken_off_its_rider_and_each_can_be_undone(
    order_system, look, zone, available, axe  # noqa: F811
):
    first, second = available(), available()
    job = order_system.delivery("accepted", "preparing", "ready_for_pickup", zone=zone, rider=None)
    page = look(f"?zone={zone}&job={job.name}")
    action(page, "assign").click()
    page.get_by_role("button", name=first).click()
    expect(page.locator("#job .result")).to_contain_text(f"{job.name} is assigned to {first}.")
    expect(page.locator("#announcer")).to_contain_text(f"is assigned to {first}")
    expect(row(page, job).locator(".c-rider")).to_have_text(first)
    action(page, "assign").click()
    page.locator("#assign-rider").fill(second)
    axe(page)
    page.keyboard.press("Enter")
    expect(row(page, job).locator(".c-rider")).to_have_text(second)
    action(page, "undo").click()
    expect(row(page, job).locator(".c-rider")).to_have_text(first)
    action(page, "unassign").click()
    action(page, "confirm").click()
    expect(row(page, job).locator(".c-rider")).to_have_text("No rider")
    action(page, "undo").click()
    expect(row(page, job).locator(".c-rider")).to_have_text(first)


@pytest.mark.lean
def test_until_the_rider_has_an_order_the_nearest_riders_are_those_near_the_shop(
    site, order_system, look, zone, available  # noqa: F811
):
    near_home, near_shop = available(), available()
    shop = away(HOME, 5_000, 90)
    for person, place in ((near_home, HOME), (near_shop, shop)):
        say(site, [f"GEOADD riders:{{{zone}}}:geo {place[1]} {place[0]} {person}",
                   f"ZADD riders:{{{zone}}}:seen {int(time.time() * 1000) + 80_000} {person}"])
    vendor = {"name": "Da Gino", "lat": shop[0], "lon": shop[1]}
    job = order_system.delivery("accepted", zone=zone, rider=None, vendor=vendor)
    page = look(f"?zone={zone}&job={job.name}")
    expect(page.locator("#fleet [data-marker='job open']")).to_be_visible()
    action(page, "assign").click()
    expect(page.locator("#job form p").first).to_have_text("Nearest to the vendor")
    expect(page.locator("#job form button").first).to_contain_text(near_shop)


@pytest.mark.lean
@pytest.mark.parametrize("locale, title, far", [
    ("en-US", "Nearest to the destination", "0.2 mi"), ("de-DE", "Dem Ziel am nächsten", "400 m")])
def test_the_nearest_riders_are_listed_with_the_place_and_the_readers_units(
    site, order_system, look, zone, available, locale, title, far  # noqa: F811
):
    person = available()
    lat, lon = away(HOME, 400, 90)
    say(site, [f"GEOADD riders:{{{zone}}}:geo {lon} {lat} {person}",
               f"ZADD riders:{{{zone}}}:seen {int(time.time() * 1000) + 80_000} {person}"])
    job = order_system.delivery("accepted", zone=zone, rider=None)
    page = look(f"?zone={zone}&job={job.name}&lang={locale[:2]}", locale=locale)
    expect(page.locator("#fleet [data-marker='job open']")).to_be_visible()
    action(page, "assign").click()
    expect(page.locator("#job form p").first).to_have_text(title)
    expect(action(page, f"'to {person}'")).to_have_text(f"{person} · {far}")


@pytest.mark.lean
def test_a_row_has_its_new_rider_before_the_list_does(order_system, look, zone, available):  # noqa: F811
    first, second = available(), available()
    job = order_system.delivery("accepted", zone=zone, rider=first)
    page = look(f"?zone={zone}&job={job.name}")
    expect(row(page, job).locator(".c-rider")).to_have_text(first)
    page.route("**/zones/*/jobs*", lambda route: route.fulfill(
        json={"version": "old", "reset": False, "jobs": [], "gone": []}))
    action(page, "assign").click()
    page.get_by_role("button", name=second).click()
    expect(page.locator("#job .result")).to_contain_text(f"{job.name} is assigned to {second}.")
    # No response with a change arrives.
    expect(row(page, job).locator(".c-rider")).to_have_text(second)
    expect(page.locator("#job .facts").first).to_contain_text(second)


@pytest.mark.lean
def test_a_rider_with_room_for_more_is_busy_and_only_one_without_a_task_is_free(
    order_system, look, zone, available  # noqa: F811
):
    free, busy = available(capacity=3), available(capacity=3)
    for _ in range(2):
        order_system.delivery("accepted", zone=zone, rider=busy)
    page = look(f"?zone={zone}")
    expect(page.locator("#riders .head")).to_have_text("Riders online1 free · 1 busy")
    expect(page.locator(f'#riders tr[data-rider="{busy}"] [data-kind=busy]')).to_have_text("busy · 2 tasks")
    expect(page.locator(f'#riders tr[data-rider="{free}"] [data-kind=available]')).to_have_text("free")


def test_more_riders_than_the_gateway_lists_are_counted_and_do_not_hide_those_who_can_be_reached(
    site, look, zone, available  # noqa: F811
):
    free = available()
    # Unreachable, as the sweep leaves them: their next checks are long after that of a rider who can be reached.
    later = int(time.time() * 1000) + 1_700_000
    say(site, [f"ZADD riders:{{{zone}}}:due {later} idle-{number}" for number in range(1_001)])
    page = look(f"?zone={zone}")
    expect(page.locator("#riders .head")).to_have_text("Riders online1 free · 0 busy · 1,001 not available")
    expect(page.locator(f'#riders tr[data-rider="{free}"] [data-kind=available]')).to_have_text("free")


@pytest.mark.lean
def test_a_refusal_is_shown_in_words_and_changes_nothing(order_system, look, zone, available):  # noqa: F811
    busy = available(capacity=1)
    order_system.delivery("accepted", zone=zone, rider=busy)
    job = order_system.delivery("accepted", zone=zone, rider=None)
    page = look(f"?zone={zone}&job={job.name}")
    action(page, "assign").click()
    page.locator("#assign-rider").fill(busy)
    page.keyboard.press("Enter")
    expect(page.locator("#job .problem")).to_contain_text("reached their maximum number of tasks")
    expect(page.locator("#announcer")).to_contain_text("their maximum number of tasks")
    expect(page.locator("#assign-rider")).to_have_value(busy)
    assert "rider" not in job.state or job.state.get("rider") is None


@pytest.mark.lean
def test_cancelling_asks_first_and_by_keyboard_the_safe_answer_comes_first(order_system, look, zone):  # noqa: F811
    job = order_system.delivery("accepted", zone=zone)
    page = look(f"?zone={zone}&job={job.name}")
    action(page, "cancel").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#job .question")).to_contain_text("can’t be undone")
    page.keyboard.press("Tab")
    expect(action(page, "keep")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#job .question")).to_have_count(0)
    action(page, "cancel").click()
    action(page, "confirm").click()
    expect(row(page, job)).to_have_count(0)
    expect(page.locator("#announcer")).to_contain_text("is cancelled")
    assert job.state["status"] == "cancelled"


def test_a_rider_is_set_offline(order_system, look, zone, available):  # noqa: F811
    person = available()
    job = order_system.visit(zone=zone, rider=person)
    page = look(f"?zone={zone}&job={job.name}")
    action(page, "offline").click()
    action(page, "confirm").click()
    # A rider with a task stays online, and the page shows the reason.
    expect(page.locator("#job .result")).to_contain_text(re.compile("is offline|still has a task"))


@pytest.mark.lean
def test_the_tracking_link_is_copied_or_shown_and_the_customers_page_opens(order_system, look, zone):  # noqa: F811
    job = order_system.visit("on_the_way", zone=zone)
    page = look(f"?zone={zone}&job={job.name}", permissions=["clipboard-read", "clipboard-write"])
    action(page, "link").click()
    expect(page.locator("#job .result")).to_contain_text("Tracking link")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(rf"{re.escape(order_system.site.url)}/track/{job.name}#[0-9a-f]+", copied)
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Open tracking page").click()
    expect(opened.value.locator("#status, h1").first).to_be_visible()
    assert "eyJ" not in opened.value.url


@pytest.mark.lean
def test_d22_views_are_saved_on_the_device_and_engineering_figures_have_a_tab(
    order_system, look, zone, axe  # noqa: F811
):
    order_system.visit("on_the_way", zone=zone)
    other = order_system.delivery("accepted", zone=zone)
    page = look(f"?zone={zone}")
    expect(page.locator(ROWS)).to_have_count(2)
    expect(page.locator("#gateways")).to_be_hidden()
    page.select_option("#filter-status", "on_the_way")
    page.get_by_role("button", name="Save view").click()
    page.keyboard.type("Under way")
    page.keyboard.press("Enter")
    expect(page.locator("#announcer")).to_contain_text("View Under way saved.")
    page.locator("#filter-clear").click()
    expect(row(page, other)).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Under way", exact=True).click()
    expect(row(page, other)).to_have_count(0)
    assert "status=on_the_way" in page.url
    axe(page)
    page.get_by_role("button", name="Remove the view Under way").click()
    expect(page.get_by_role("button", name="Under way", exact=True)).to_have_count(0)
    page.get_by_role("link", name="System").click()
    expect(page.locator("#gateways li")).not_to_have_count(0)
    expect(page.locator("#gateways")).to_be_visible()
    expect(page.locator("#desk")).to_be_hidden()
    assert "tab=system" in page.url


def test_the_sound_is_off_until_somebody_switches_it_on_and_stays_so(order_system, look, zone):  # noqa: F811
    order_system.visit(zone=zone)
    page = look(f"?zone={zone}")
    switch = page.get_by_role("switch", name="Sound")
    expect(switch).to_have_attribute("aria-checked", "false")
    switch.focus()
    page.keyboard.press("Space")
    expect(switch).to_have_attribute("aria-checked", "true")
    page.reload()
    expect(page.get_by_role("switch", name="Sound")).to_have_attribute("aria-checked", "true")


@pytest.mark.lean
def test_d23_several_jobs_are_assigned_together_and_each_result_is_listed(
    order_system, look, zone, available, axe  # noqa: F811
):
    target, busy = available(capacity=5), available(capacity=1)
    jobs = [order_system.delivery("accepted", zone=zone, rider=None) for _ in range(3)]
    ended = order_system.delivery("accepted", zone=zone, rider=None)
    page = look(f"?zone={zone}")
    for job in jobs:
        row(page, job).locator("input").check()
    expect(page.locator("#bulk .tally")).to_have_text("3 selected")
    expect(page.locator("#job")).to_be_hidden()
    axe(page)
    bulk(page, "assign").click()
    bulk(page, f"to {target}").click()
    expect(page.locator("#bulk .question")).to_contain_text(f"Assign 3 jobs to {target}?")
    bulk(page, "confirm").click()
    expect(page.locator("#bulk .result")).to_contain_text("All 3 done.")
    expect(page.locator("#announcer")).to_contain_text("All 3 done.")
    for job in jobs:
        expect(row(page, job).locator(".c-rider")).to_have_text(target)
    axe(page)
    bulk(page, "undo").click()
    for job in jobs:
        expect(row(page, job).locator(".c-rider")).to_have_text("")
    bulk(page, "dismiss").click()
    expect(page.locator("#bulk")).to_be_hidden()
    # A rider with room for one job: refused jobs are listed, and stay selected.
    page.get_by_role("checkbox", name="Select all jobs shown").check()
    expect(page.locator("#bulk .tally")).to_have_text("4 selected")
    bulk(page, "assign").click()
    page.locator("#bulk-rider").fill(busy)
    page.keyboard.press("Enter")
    bulk(page, "confirm").click()
    expect(page.locator("#bulk .result")).to_contain_text("1 of 4 done.")
    expect(page.locator("#bulk [data-outcome=refused]")).to_have_count(3)
    expect(page.locator("#bulk .tally")).to_have_text("3 selected")
    assert ended.state["status"] == "accepted"


@pytest.mark.lean
def test_several_jobs_are_cancelled_after_a_question_that_counts_them(order_system, look, zone):  # noqa: F811
    jobs = [order_system.delivery("accepted", zone=zone) for _ in range(4)]
    page = look(f"?zone={zone}&sort=job")
    names = sorted(job.name for job in jobs)
    # With the keyboard: space selects the row, shift and space a range.
    page.locator(f'{ROWS}[data-name="{names[0]}"] a').focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Space")
    expect(page.locator("#bulk .tally")).to_have_text("3 selected")
    bulk(page, "cancel").click()
    expect(page.locator("#bulk .question")).to_contain_text("Cancel 3 jobs?")
    bulk(page, "confirm").click()
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page.locator("#bulk .result")).to_contain_text("All 3 done.")


@pytest.mark.lean
def test_the_panel_names_the_shop_and_the_destination_and_contacts_are_links(
    order_system, look, zone, available, axe  # noqa: F811
):
    person = available()
    order_system.ask("PUT", f"riders/{person}", {
        "zone": zone, "approved": True, "capacity": 3, "card": {"name": "Ben", "contact": "https://chat.example/ben"}})
    job = order_system.delivery(
        "accepted", "preparing", "ready_for_pickup", "in_transit", zone=zone, rider=person,
        vendor={"name": "Da Rosa", "address": "Via Appia 1", "lat": HOME[0], "lon": HOME[1]},
        recipient={"name": "M. Rossi", "address": "Via Nomentana 3", "floor": "3rd floor", "contact": "tel:+390612345,17"})
    page = look(f"?zone={zone}&job={job.name}")
    facts = page.locator("#job .facts").first
    for name, value in [("Vendor", "Da Rosa, Via Appia 1"), ("Destination", "Via Nomentana 3, 3rd floor"), ("Recipient", "M. Rossi")]:
        expect(facts.locator(f"dt:text-is('{name}') + dd")).to_have_text(value)
    expect(facts.get_by_role("link", name="+390612345,17")).to_have_attribute("href", "tel:+390612345,17")
    expect(facts.get_by_role("link", name="chat.example/ben")).to_have_attribute("href", "https://chat.example/ben")
    axe(page)
