"""Pages on the narrowest phone, 320 px wide, in long languages and in one that is written from right to left. The customer's
page gets every text from a language file that is made from the template; the other pages have English and German."""

import json
import re
import time

import pytest
from playwright.sync_api import Page, expect

from markers import HOME as DOOR, RIDER
from order_system import HOME, OrderSystem
from riders import Rider
from stage import PAGES, Site
from trips import Spot, away

ROOM_PX = 80
ZOOM = "#map .leaflet-control-zoom"
# An unbreakable word, as long as German and Finnish words are.
COMPOUND = "toimitusaikatauluarvio"
HEBREW_LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "אבגדהוזחטיכלמנסעפצקרשתאבגד")
PLACEHOLDER = re.compile(r"(\{\w+\})")
STATUSES = {"in_transit": {"short": "On the way", "long": "Your order is on its way", "next": "It will be here soon."}}

# What lies beyond an edge of the screen and is in no part that scrolls by itself. Leaflet's panes are larger than the map on
# purpose.
CUT = """() => {
  const scrolls = (each) => each && (/auto|scroll/.test(getComputedStyle(each).overflowX) || scrolls(each.parentElement));
  return [...document.querySelectorAll('body *')].filter((each) => {
    const {left, right, width} = each.getBoundingClientRect();
    return width > 0 && (left < -0.5 || right > innerWidth + 0.5) && each.checkVisibility()
      && !each.closest('.leaflet-pane, .unseen') && !scrolls(each.parentElement);
  }).map((each) => `${each.tagName}#${each.id} ${each.textContent.slice(0, 40)}`);
}"""


def longer(text: str) -> str:
    return f"{text} {COMPOUND}"


def in_hebrew_letters(text: str) -> str:
    return "".join(part if PLACEHOLDER.match(part) else part.lower().translate(HEBREW_LETTERS)
                   for part in PLACEHOLDER.split(text))


def changed(texts, change):
    """The template with every text changed."""
    if isinstance(texts, dict):
        return {key: changed(each, change) for key, each in texts.items()}
    return [changed(each, change) for each in texts] if isinstance(texts, list) else change(texts)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("languages")
    template = json.loads((PAGES / "language-template.json").read_text()) | {"statuses": STATUSES}
    for head, change in (({"language": "fi", "name": "Suomi"}, longer),
                         ({"language": "he", "name": "עברית", "direction": "rtl"}, in_hebrew_letters)):
        (folder / f"{head['language']}.json").write_text(json.dumps(changed(template, change) | head))
    site = Site(tmp_path_factory.mktemp("narrow"), PAGES_LANGUAGES_DIR=folder, TRACKING_STALE_AFTER_SECONDS=600)
    yield OrderSystem(site)
    site.close()


@pytest.fixture(scope="module")
def underway(world):
    """A delivery whose rider is 3 km west of the door."""
    delivery = world.delivery("accepted", "preparing", "ready_for_pickup", "in_transit",
                              display={"orderNumber": "A-50311", "items": ["2 pizzas"], "note": "Third floor."})
    rider = Rider(world, delivery).travel()
    rider.report(Spot(*away(HOME, 3_000, 270), 8, 90), is_answered=True)
    yield delivery
    rider.close()


def in_language(url: str, language: str) -> str:
    address, _, link = url.partition("#")
    return f"{address}?lang={language}#{link}"


def fits(page: Page) -> None:
    assert page.evaluate("innerWidth") == 320
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert page.evaluate(CUT) == []


@pytest.mark.lean
def test_point_17_the_customers_page_fits_320_px_in_german_in_longer_words_and_from_right_to_left(
        world, underway, open_devices, axe):
    page = open_devices(world.site).small_phone()
    for language, direction in (("de", "ltr"), ("fi", "ltr"), ("he", "rtl")):
        page.goto(in_language(underway.guest_url, language))
        expect(page.locator("html")).to_have_attribute("dir", direction)
        expect(page.locator("html")).to_have_attribute("lang", language)
        expect(page.locator("#eta")).to_be_visible()
        expect(page.locator(RIDER)).to_be_visible()
        expect(page.locator("#note")).to_be_visible()
        fits(page)
    axe(page)


@pytest.mark.lean
@pytest.mark.parametrize(("language", "side"), [("en", "right"), ("he", "left")])
def test_the_zoom_buttons_the_age_and_follow_share_the_map_in_both_directions_of_writing(
        language, side, world, underway, open_devices):
    page = open_devices(world.site).small_phone(in_language(underway.guest_url, language), reduced_motion=True)
    expect(page.locator(RIDER)).to_be_visible()
    expect(page.locator("#age")).to_be_visible()
    zoom, age, frame = (page.locator(each).bounding_box() for each in (ZOOM, "#age", "#map"))
    middle = frame["x"] + frame["width"] / 2
    assert (zoom["x"] > middle) == (side == "right")
    assert not overlap(zoom, age)
    # The camera leaves room for the buttons.
    for marker in (RIDER, DOOR):
        box = page.locator(marker).bounding_box()
        center = box["x"] + box["width"] / 2
        assert (frame["width"] - center if side == "right" else center) >= ROOM_PX - 1, marker
    before = page.locator(DOOR).bounding_box()
    page.locator(f"{ZOOM} a").first.click()
    expect(page.locator("#follow")).to_be_visible()
    assert page.locator(DOOR).bounding_box() != before
    follow = page.locator("#follow").bounding_box()
    assert abs(follow["x"] + follow["width"] / 2 - middle) <= 1


def overlap(one: dict, other: dict) -> bool:
    return (one["x"] < other["x"] + other["width"] and other["x"] < one["x"] + one["width"]
            and one["y"] < other["y"] + other["height"] and other["y"] < one["y"] + one["height"])


@pytest.mark.lean
def test_point_17_signing_in_fits_320_px_in_german_on_every_page(small_phone):
    page = small_phone(locale="de-DE")
    for path in ("/rider", "/ops", "/track/nobody"):
        page.goto(path)
        expect(page.locator("#signin, #refusal").locator("visible=true")).to_have_count(1)
        expect(page.locator("html")).to_have_attribute("lang", "de")
        fits(page)


@pytest.mark.lean
def test_point_17_the_desk_and_an_open_job_fit_320_px_in_german(order_system, small_phone):
    zone = "donaudampfschifffahrtsgesellschaft"
    visit = order_system.visit("on_the_way", zone=zone)
    page = small_phone(order_system.sign_in_url(f"/ops?zone={zone}&job={visit.name}", "ops", "olga"), locale="de-DE")
    expect(page.locator("#jobs tbody tr[data-name]").first).to_be_visible()
    expect(page.locator("#job .plainlist li").first).to_be_visible()
    fits(page)
    page.locator('#job [data-action="note"]').click()
    expect(page.locator("#operations-note")).to_be_visible()
    fits(page)
    page.goto(f"/ops?zone={zone}&tab=system")
    expect(page.locator("#gateways li").first).to_be_visible()
    fits(page)


def test_a_promised_range_of_times_stays_on_one_line_and_the_last_button_at_the_edge(order_system, small_phone):
    now = time.time_ns() // 1_000_000
    window = {"from": now + 600_000, "until": now + 4_200_000}
    page = small_phone(order_system.delivery("accepted", display={"window": window}).guest_url)
    expect(page.locator("#eta")).to_contain_text("Expected")
    # The last line begins where the range begins, not within it.
    starts = page.locator("#eta").evaluate("""(element) => {
      const text = element.firstChild, from = text.data.indexOf(' ') + 1;
      const top = (place) => {
        const range = document.createRange();
        range.setStart(text, place);
        range.setEnd(text, place + 1);
        return Math.round(range.getBoundingClientRect().top);
      };
      return [top(from), top(text.length - 1)];
    }""")
    assert starts[0] == starts[1]
    share, bar = (page.locator(part).bounding_box() for part in ("#share", ".bar"))
    assert bar["width"] - (share["x"] + share["width"]) < 24


def test_the_close_button_of_a_job_with_a_long_name_is_beside_its_title(order_system, desktop):
    job = order_system.delivery("accepted", display={"orderNumber": "W" * 32})
    page = desktop(order_system.sign_in_url(f"/ops?zone=-&job={job.name}", "ops", "olga"))
    title, close = (page.locator(f"#job .head {part}").bounding_box() for part in ("h2", "button"))
    assert close["x"] >= title["x"] + title["width"] - 1 and close["y"] < title["y"] + title["height"]
