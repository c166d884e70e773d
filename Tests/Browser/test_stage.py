"""The stage of `enroute demo`: the first thing that strangers see. Three real pages, side by side and live."""

import re

import pytest
from playwright.sync_api import expect

from demo import Demo
from evidence import POLICY

# An order at the highest speed takes less than a minute; a slow machine may need longer.
ORDER_MS = 120_000
HIGHEST_SPEED = "8"
# The lowest speed keeps the rider on the way while a slow machine loads the pages.
LOWEST_SPEED = "0.25"
# A slow machine can miss the rider of a fast order.
ORDERS = 3


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    demo = Demo(tmp_path_factory.mktemp("demo"), speed=HIGHEST_SPEED)
    yield demo
    demo.close()


@pytest.fixture
def open_stage(browser, demo):
    """open_stage(width=1440, …): the stage in its own browser, and its console."""
    contexts = []

    def open_it(width=1440, height=900, dark=False, forced_colors=False):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", locale="en-US",
            forced_colors="active" if forced_colors else "none")
        context.set_default_timeout(ORDER_MS)
        contexts.append(context)
        page = context.new_page()
        page.lines = []
        context.on("console", lambda message: page.lines.append(f"{message.type}: {message.text}"))
        context.on("weberror", lambda error: page.lines.append(f"uncaught: {error.error}"))
        page.goto(demo.url)
        return page

    yield open_it
    for context in contexts:
        context.close()


def frame(page, name):
    return page.frame_locator(f"#{name}")


def set_speed(page, speed):
    page.get_by_label("Speed").fill(speed)
    expect(page.locator("#speed-value")).to_have_text(f"× {speed}")


def await_rider_on_the_way(page):
    """Orders until the rider is seen on the way, and slows down the rider then."""
    plot, again = page.locator("#plot"), page.get_by_role("button", name="Once more")
    for _ in range(ORDERS):
        set_speed(page, HIGHEST_SPEED)
        expect(plot).to_contain_text(re.compile("on the way|is here|ended"), timeout=ORDER_MS)
        set_speed(page, LOWEST_SPEED)
        if "on the way" in plot.inner_text():
            return
        again.click()
        expect(again).to_be_hidden(timeout=ORDER_MS)
    pytest.fail(f"the rider of {ORDERS} orders was never seen on the way")


@pytest.mark.lean
def test_three_live_pages_show_one_delivery_and_a_killed_gateway_is_measured(open_stage, axe):
    page = open_stage()
    customer, rider, desk = (frame(page, name) for name in ("customer", "rider", "desk"))
    await_rider_on_the_way(page)
    # The rider's page shares the location that the stage's phone reads; the customer sees the rider; the operations
    # page shows all.
    expect(customer.locator("#map .rider").first).to_be_visible(timeout=ORDER_MS)
    expect(rider.locator("#sharing")).to_be_visible(timeout=ORDER_MS)
    expect(desk.locator("table tbody tr[data-name]").first).to_be_visible(timeout=ORDER_MS)
    axe(page)
    expect(page.locator("#expect-gateway")).to_contain_text("within 3 s")
    page.get_by_role("button", name="Kill a gateway").click()
    expect(page.locator("#result-gateway")).to_contain_text(
        re.compile(r"again after \d+\.\d s|noticed nothing"), timeout=ORDER_MS)
    wrong = [line for line in page.lines if POLICY.search(line) or line.startswith("uncaught")]
    assert not wrong, wrong


def test_a_stage_that_is_opened_during_the_ride_shares_the_riders_location(open_stage):
    page = open_stage()
    await_rider_on_the_way(page)
    page.context.close()
    expect(frame(open_stage(), "rider").locator("#sharing")).to_be_visible(timeout=ORDER_MS)


def test_an_order_is_delivered_by_the_riders_page_and_once_more_starts_another(open_stage):
    page = open_stage()
    set_speed(page, HIGHEST_SPEED)
    again = page.get_by_role("button", name="Once more")
    expect(again).to_be_visible(timeout=ORDER_MS)
    expect(page.locator("#plot")).to_contain_text("Your order is here")
    number = int(page.locator("#customer").get_attribute("src").split("=")[1])
    again.click()
    expect(again).to_be_hidden(timeout=ORDER_MS)
    expect(page.locator("#customer")).to_have_attribute("src", re.compile(f"order={number + 1}"), timeout=ORDER_MS)


def test_the_stage_fits_a_phone_a_laptop_and_a_large_screen_in_both_themes(open_stage, axe):
    for width, height, dark in [(390, 844, False), (390, 844, True), (1280, 800, True), (1920, 1080, False)]:
        page = open_stage(width, height, dark)
        expect(page.locator("#faults li")).to_have_count(6)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{width} px"
        axe(page)


def test_with_forced_colours_the_buttons_have_edges_and_disabled_ones_are_gray(open_stage):
    page = open_stage(forced_colors=True)
    expect(page.locator("#faults li")).to_have_count(6)
    for button in page.locator("#faults button").all():
        width, edge, ground, text = button.evaluate("""(button) => {
          const {borderTopWidth, borderTopColor, backgroundColor, color} = getComputedStyle(button);
          return [borderTopWidth, borderTopColor, backgroundColor, color];
        }""")
        assert width == "1px" and edge not in (ground, "rgba(0, 0, 0, 0)"), (edge, ground)
        if button.get_attribute("aria-disabled") == "true":
            assert edge == text


@pytest.mark.lean
def test_on_a_small_laptop_the_pages_the_buttons_and_the_figures_are_seen_together(open_stage):
    page = open_stage(1280, 800)
    expect(page.locator("#faults li")).to_have_count(6)
    for part in ("#stage", "#faults", ".figures"):
        box = page.locator(part).bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 800, (part, box)


def test_with_tls_the_stage_says_how_to_accept_the_certificate_until_the_browser_trusts_it(browser, tmp_path, axe):
    demo = Demo(tmp_path, 24_180, HIGHEST_SPEED, None, "--tls")
    try:
        stranger = browser.new_context(locale="en-US")
        page = stranger.new_page()
        page.goto(demo.url)
        card = page.locator("#certificate")
        expect(card).to_be_visible(timeout=ORDER_MS)
        for name in ("customer", "rider", "desk"):
            expect(card.get_by_role("link", name=name)).to_have_attribute(
                "href", re.compile(r"^https://localhost:\d+/api/v1/texts$"))
        axe(page)
        stranger.close()
        # A browser that has accepted the certificate.
        friend = browser.new_context(locale="en-US", ignore_https_errors=True)
        page = friend.new_page()
        page.goto(demo.url)
        expect(frame(page, "desk").locator("table tbody tr[data-name]").first).to_be_visible(timeout=ORDER_MS)
        expect(frame(page, "customer").locator("#headline")).to_be_visible(timeout=ORDER_MS)
        expect(page.locator("#certificate")).to_be_hidden()
        friend.close()
    finally:
        demo.close()
