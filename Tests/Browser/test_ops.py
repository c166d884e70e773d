"""The operations page: open jobs of a zone, unavailable reasons, filters in the address, keyboard navigation, and thousands
of rows. Every test has its own zones."""

import re
import secrets
import subprocess
import threading
import time

import pytest
from playwright.sync_api import expect

import bounds
from order_system import HOME, OrderSystem
from pacing import LONG_MS, Trace
from trips import to_the_door

ROWS = "#jobs tbody tr[data-name]"
MANY = 5_000
CHANGES_A_SECOND = 50

SCROLLS = 20
# Scrolls in steps, one per frame.
GO_THROUGH = """async (frame, top) => {
  for (const from = frame.scrollTop, steps = 30, at = {step: 1}; at.step <= steps; at.step += 1) {
    frame.scrollTop = from + (top - from) * at.step / steps;
    await new Promise(requestAnimationFrame);
  }
}"""


@pytest.fixture
def zone():
    return f"zone-{secrets.token_hex(3)}"


@pytest.fixture
def look(desktop, order_system):
    """look(query, …): the operations page with a query."""

    def open_page(query: str = "", role: str = "ops", device=desktop, **options):
        return device(order_system.sign_in_url(f"/ops{query}", role, "olga"), **options)

    return open_page


def row(page, job):
    return page.locator(f'{ROWS}[data-name="{job.name}"]')


@pytest.mark.lean
def test_open_jobs_show_their_tracking_state_and_the_unavailable_reason(order_system, rider, look, zone):
    dark = order_system.visit("on_the_way", zone=zone)
    quiet = order_system.delivery("accepted", zone=zone)
    phone = rider(dark).travel()
    phone.report_unavailable("low_battery")
    page = look(f"?zone={zone}")
    expect(row(page, dark).locator(".c-tracking")).to_have_text("waiting")
    expect(row(page, dark).locator(".c-unavailable")).to_have_text("low battery")
    expect(row(page, dark).locator(".c-rider")).to_have_text(dark.rider)
    expect(row(page, quiet).locator(".c-unavailable")).to_have_text("")
    expect(page.locator("#jobs")).to_have_attribute("aria-rowcount", "3")
    expect(page.locator("#count")).to_have_text("2 open")
    expect(page.locator("#zones a[aria-current=page]")).to_contain_text(zone)
    quiet.status("cancelled")
    expect(row(page, quiet)).to_have_count(0)
    expect(page.locator("#gateways li")).not_to_have_count(0)
    expect(page.locator("#gateways")).to_contain_text("serving")
    assert "eyJ" not in page.url and "#" not in page.url


@pytest.mark.lean
def test_D3_a_long_silent_rider_is_listed_first_as_lost_with_the_last_contact(order_system, rider, look, zone, axe):
    """Positions are stored for 10 minutes. Of a rider last seen 45 minutes ago Redis only has the time."""
    waiting = order_system.visit("on_the_way", zone=zone)
    lost = order_system.visit("on_the_way", zone=zone)
    rider(lost).travel()
    seen, notes = str(int(time.time() * 1000) - 45 * 60_000), f"job:{{{lost.name}}}:verdicts"
    site = order_system.site
    site.redis.wait_until(lambda: site.redis_says("HGET", notes, "sharing_at"), "that sharing began")
    site.redis_says("HSET", notes, "seen_at", seen, "sharing_at", seen)
    page = look(f"?zone={zone}")
    expect(page.locator(ROWS).first).to_have_attribute("data-name", lost.name)
    expect(row(page, lost).locator(".c-tracking")).to_have_text("unreachable")
    expect(row(page, lost).locator(".c-seen")).to_contain_text("45")
    expect(row(page, waiting).locator(".c-tracking")).to_have_text("waiting")
    expect(page.locator("#trackings button").first).to_have_text(re.compile("Needs attention 1"))
    expect(page.locator('#trackings [data-tracking="lost"]')).to_have_text(re.compile("unreachable 1"))
    axe(page)


@pytest.mark.lean
def test_filters_are_in_the_address_for_sharing_and_the_back_button(order_system, look, zone):
    first = order_system.visit("on_the_way", zone=zone)
    second = order_system.delivery("accepted", zone=zone)
    page = look(f"?zone={zone}")
    expect(row(page, second)).to_be_visible()
    page.select_option("#filter-status", "on_the_way")
    expect(row(page, second)).to_have_count(0)
    expect(page.locator("#count")).to_have_text("1 of 2")
    row(page, first).locator("a").click()
    expect(page.locator("#job h2")).to_have_text(first.name)
    assert f"job={first.name}" in page.url and "status=on_the_way" in page.url
    shared = page.url
    page.go_back()
    expect(page.locator("#job")).to_be_hidden()
    expect(row(page, second)).to_have_count(0)
    page.go_back()
    expect(row(page, second)).to_be_visible()
    expect(page.locator("#filter-status")).to_have_value("")
    page.goto(shared)
    expect(page.locator("#job h2")).to_have_text(first.name)
    expect(page.locator("#filter-status")).to_have_value("on_the_way")
    page.locator("#filter-clear").click()
    page.fill("#filter-q", second.customer)
    expect(row(page, first)).to_have_count(0)
    expect(page).to_have_url(re.compile(f"q={second.customer}"))
    expect(page.locator("#announcer")).to_have_text("Showing 1 of 2 open jobs.")


@pytest.mark.lean
def test_rows_can_be_navigated_opened_and_closed_by_keyboard(order_system, look, zone):
    jobs = sorted((order_system.visit(zone=zone) for _ in range(3)), key=lambda job: job.name)
    page = look(f"?zone={zone}&sort=job")
    expect(page.locator(ROWS)).to_have_count(3)
    # Only one row is in the tab order.
    expect(page.locator('#jobs tbody a[tabindex="0"]')).to_have_count(1)
    row(page, jobs[0]).locator("a").focus()
    page.keyboard.press("ArrowDown")
    expect(row(page, jobs[1]).locator("a")).to_be_focused()
    page.keyboard.press("End")
    expect(row(page, jobs[2]).locator("a")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.locator("#job h2")).to_have_text(jobs[0].name)
    expect(page.locator("#job button").first).to_be_focused()
    expect(page.locator("#job")).to_contain_text("Appointment confirmed by orders")
    page.keyboard.press("Enter")
    expect(page.locator("#job")).to_be_hidden()
    expect(row(page, jobs[0]).locator("a")).to_be_focused()
    page.get_by_role("button", name="Job", exact=True).click()
    expect(page.locator("#jobs th.c-job").first).to_have_attribute("aria-sort", "descending")
    expect(page.locator(ROWS).first).to_have_attribute("data-name", jobs[2].name)


@pytest.mark.lean
def test_d23_and_d32_the_title_counts_jobs_that_need_somebody_and_escape_closes_a_job(order_system, look, zone):
    order_system.visit("on_the_way", zone=zone)
    failed = order_system.delivery("accepted", "allocation_failed", zone=zone)
    page = look(f"?zone={zone}")
    expect(page).to_have_title("(1) Operations")
    expect(page.locator(ROWS).first).to_have_attribute("data-name", failed.name)
    page.get_by_role("button", name="Needs attention 1").click()
    expect(page.locator(ROWS)).to_have_count(1)
    row(page, failed).locator("a").click()
    expect(page.locator("#job h2")).to_have_text(failed.name)
    page.keyboard.press("Escape")
    expect(page.locator("#job")).to_be_hidden()
    expect(row(page, failed).locator("a")).to_be_focused()


def test_riders_position_quality_and_activity_are_beside_the_jobs(order_system, rider, look, zone):
    person = f"rider-{secrets.token_hex(3)}"
    order_system.approve(person, zone=zone, capacity=1)
    order_system.ask("PATCH", "riders/me/status", {"status": "online"}, bearer=order_system.token("rider", person))
    visit = order_system.visit("on_the_way", zone=zone, rider=person)
    phone = rider(visit).travel()
    spot = to_the_door(HOME).at(0)
    phone.report(spot, is_answered=True)
    phone.report(to_the_door(HOME).at(1), at=1_600_000_000_000)
    phone.socket.hear(type="error", reason="stale")
    page = look(f"?zone={zone}")
    expect(page.locator(f'#riders tr[data-rider="{person}"]')).to_contain_text("busy · 1 task")
    expect(page.locator("#riders")).to_contain_text("0 free · 1 busy")
    expect(page.locator("#verdicts")).to_contain_text("Accepted")
    expect(page.locator("#verdicts")).to_contain_text(f"{visit.name} 1 rejected")
    expect(page.locator("#audit")).to_contain_text(f"{person} was assigned {visit.name}")
    expect(row(page, visit).locator(".c-tracking")).to_have_text("live")
    # No location is shown anywhere.
    assert [degrees for degrees in (*HOME, spot.lat, spot.lon) if str(degrees)[:6] in page.content()] == []


@pytest.mark.lean
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_operations_page_meets_WCAG_and_fits_small_screens(
    order_system, look, small_phone, axe, zone, dark
):
    visits = [order_system.visit("on_the_way", zone=zone) for _ in range(4)]
    page = look(f"?zone={zone}&job={visits[0].name}", dark=dark)
    expect(page.locator("#job ol li")).not_to_have_count(0)
    expect(page.locator("#gateways li")).not_to_have_count(0)
    axe(page)
    small = look(f"?zone={zone}", device=small_phone, dark=dark)
    expect(small.locator(ROWS)).to_have_count(4)
    axe(small)
    assert small.evaluate("document.documentElement.scrollWidth") <= 320


def test_the_quality_of_positions_is_told_in_german_with_the_names_of_the_protocol(order_system, rider, look, zone):
    visit = order_system.visit("on_the_way", zone=zone)
    rider(visit).travel().report(to_the_door(HOME).at(0), is_answered=True)
    page = look(f"?zone={zone}&job={visit.name}", locale="de-DE")
    expect(page.locator("#job")).to_contain_text("Angenommen accepted")
    page.locator("#tabs a[data-tab=system]").click()
    expect(page.locator("#verdicts")).to_contain_text("Angenommen accepted")


def test_the_operations_page_is_available_in_German(order_system, look, zone):
    visit = order_system.visit("on_the_way", zone=zone)
    page = look(f"?zone={zone}&lang=de", locale="de-DE")
    expect(page.locator("#headline")).to_have_text("Leitstand")
    expect(row(page, visit).locator(".c-tracking")).to_have_text("wartet")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.locator("#language").click()
    expect(page.locator("#headline")).to_have_text("Operations")
    expect(row(page, visit)).to_be_visible()


@pytest.mark.lean
def test_a_person_without_the_ops_role_reads_so_and_sees_nothing(order_system, look, zone):
    order_system.visit(zone=zone)
    page = look(f"?zone={zone}", role="customer")
    expect(page.locator("#refusal")).to_contain_text("for operations")
    expect(page.locator("#dashboard")).to_be_hidden()
    expect(page.locator(ROWS)).to_have_count(0)
    page.locator("#refusal button").click()
    expect(page.locator("#signin")).to_be_visible()


def test_an_expired_session_keeps_the_content_and_continues_with_a_new_code(order_system, rider, look, zone):
    visit = order_system.visit("on_the_way", zone=zone)
    driver = rider(visit).travel()
    driver.report(to_the_door(HOME).at(0), is_answered=True)
    page = look(f"?zone={zone}")
    expect(row(page, visit).locator(".c-tracking")).to_have_text("live")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.evaluate("sessionStorage.setItem('enroute.token', JSON.stringify({token: 'over', expiresAt: 0}))")
    expect(page.locator("#signin")).to_contain_text("Your session has expired")
    # In view after scrolling too.
    expect(page.locator("#offline")).to_contain_text("Your session has expired")
    expect(page.locator("#offline")).to_be_in_viewport()
    expect(page.locator("#announcer")).to_have_text("Your session has expired. Sign in again to continue.")
    expect(page).to_have_title("Your session has expired. Sign in again to continue.")
    # Nobody sees what changes meanwhile.
    expect(row(page, visit).locator(".c-tracking")).to_have_text("stale")
    code = order_system.sign_in_url("/ops", "ops", "olga").split("#in.")[1]
    page.fill("#signin-code", code)
    page.keyboard.press("Enter")
    expect(page.locator("#signin")).to_be_hidden()
    expect(page.locator("#offline")).to_be_hidden()
    late = order_system.visit(zone=zone)
    expect(row(page, late)).to_be_visible()
    driver.report(to_the_door(HOME).at(1), is_answered=True)
    expect(row(page, visit).locator(".c-tracking")).to_have_text("live")
    expect(page).to_have_title(re.compile("Operations$"))


def test_without_a_gateway_the_list_stays_with_its_time_and_recovers(
    make_site, open_devices, zone
):
    site = make_site()
    orders = OrderSystem(site)
    visit = orders.visit(zone=zone)
    page = open_devices(site).desktop(orders.sign_in_url(f"/ops?zone={zone}", "ops", "olga"))
    expect(row(page, visit)).to_be_visible()
    site.gateways[0].process.kill()
    expect(page.locator("#offline")).to_contain_text("No connection")
    expect(row(page, visit)).to_be_visible()
    site.gateways[0].start()
    late = orders.visit(zone=zone)
    expect(row(page, late)).to_be_visible()
    expect(page.locator("#offline")).to_be_hidden()


@pytest.mark.lean
def test_the_cards_are_rendered_for_a_zone_with_the_same_content(order_system, look, zone):
    other = f"{zone}-b"
    order_system.visit(zone=zone, rider=None)
    order_system.visit(zone=other, rider=None)
    page = look(f"?zone={zone}")
    expect(page.locator("#riders h2")).to_be_visible()
    expect(page.locator("#audit h2")).to_be_visible()
    page.locator(f'#zones a[data-zone="{other}"]').click()
    expect(page.locator("#zones a[aria-current=page]")).to_contain_text(other)
    for card in ("riders", "audit"):
        expect(page.locator(f"#{card} h2")).to_be_visible()
    page.locator("#tabs a[data-tab=system]").click()
    expect(page.locator("#verdicts h2")).to_be_visible()


def test_while_the_list_fails_the_banner_stays_and_the_time_does_not_change(order_system, look, zone):
    visit = order_system.visit(zone=zone)
    page = look(f"?zone={zone}")
    expect(row(page, visit)).to_be_visible()
    # As without Redis: the gateways know themselves but no jobs.
    for path in ("**/zones/**", "**/zones"):
        page.route(path, lambda route: route.fulfill(status=503, json={}))
    expect(page.locator("#offline")).to_contain_text("No connection")
    page.locator("#age").evaluate("(age) => { age.textContent = 'the last time'; }")
    # The second request follows the response to the first.
    for _ in range(2):
        with page.expect_request("**/gateways"):
            pass
    expect(page.locator("#offline")).to_contain_text("No connection")
    expect(page.locator("#age")).to_have_text("the last time")
    for path in ("**/zones/**", "**/zones"):
        page.unroute(path)
    expect(page.locator("#offline")).to_be_hidden()
    expect(page.locator("#age")).to_contain_text("as of")


@pytest.mark.measures
def test_five_thousand_rows_with_fifty_changes_a_second_cause_no_long_task(
    browser, site, order_system, desktop, zone, measured
):
    """Neither while they load nor while somebody scrolls through them."""
    jobs = [f"many-{zone}-{number:05}" for number in range(MANY)]
    at = 1_795_248_617_611
    commands = [f"ZADD zones:jobs {at} {zone}"]
    for number, job in enumerate(jobs):
        commands.append(
            f"HSET job:{{{job}}} kind delivery customer c-{number} rider r-{number} zone {zone} status preparing "
            f"status_at {at} epoch e-1 head {at}-0 travel_active 0 fence 0 reached preparing")
        commands.append(f"ZADD zone:{{{zone}}}:jobs {at + number} {job}")
    say(site, commands)
    page = desktop()
    with Trace(browser, page) as loading:
        page.goto(order_system.sign_in_url(f"/ops?zone={zone}&sort=job", "ops", "olga"))
        expect(page.locator("#count")).to_have_text(f"{MANY:,} open", timeout=bounds.PAGE_MS)
        expect(page.locator("#jobs")).to_have_attribute("aria-rowcount", str(MANY + 1))
        assert page.locator("#jobs tbody tr").count() < 100

    halt = threading.Event()

    def change():
        number = 0
        while not halt.wait(1 / 5):
            names = [jobs[(number + turn) * 37 % MANY] for turn in range(CHANGES_A_SECOND // 5)]
            say(site, [f"HSET job:{{{name}}} status {'accepted' if number // len(names) % 2 else 'preparing'} "
                       f"status_at {at + number}" for name in names])
            number += len(names)

    changing = threading.Thread(target=change, daemon=True)
    changing.start()
    try:
        with Trace(browser, page) as under_way:
            # Meanwhile a reader scrolls through the list and then looks for the changes.
            for step in range(SCROLLS):
                page.locator("#jobs-frame").evaluate(GO_THROUGH, step * MANY * 44 / SCROLLS)
            page.select_option("#filter-status", "accepted")
            expect(page.locator("#count")).not_to_have_text(f"0 of {MANY:,}")
    finally:
        halt.set()
        changing.join()
    measured.note("ops: 5,000 rows, 50 changes a second", longest_computing_ms=max(under_way.tasks.computing),
                  longest_computing_while_loading_ms=max(loading.tasks.computing))
    assert loading.tasks.long + under_way.tasks.long == [], f"tasks computed for longer than {LONG_MS} ms"


def say(site, commands):
    """Sends all commands in one go through the input of `redis-cli`."""
    socket = str(site._socket)
    subprocess.run(["redis-cli", "-s", socket], input="\n".join(commands), text=True, check=True, capture_output=True,
                   timeout=bounds.ANSWER_SECONDS)
