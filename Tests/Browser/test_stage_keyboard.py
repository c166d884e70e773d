"""The keyboard on the stage of `enroute demo`. The stage's own files are served here, with a state and frames that the test
decides, so no demo runs: test_stage.py shows them with one."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from stage import ROOT

FILES = ROOT / "Sources/enroute/Demo/Panel"
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
STAGE = "http://stage.example"
PAGES = ("customer", "rider", "desk")
FRAME = '<!doctype html><title>A page</title><button>First</button><button>Last</button>'
FAULTS = ("gateway", "redis", "tunnel")
# Where the focus is: an id, the URL of a link, or in a frame the frame and the button.
FOCUS = """() => {
  const at = document.activeElement;
  return at === document.body ? null : at.id || at.getAttribute('href') || at.textContent;
}"""


class Stage:
    """The stage in a page, and the demo's responses to it."""

    def __init__(self, page: Page):
        self.page, self.asked = page, []
        self.state = {
            "origins": dict.fromkeys(PAGES, STAGE), "order": {"number": 1, "isOver": False, "isUnderway": True},
            "phone": None, "plot": "Rosa is on the way.", "speed": 1, "riders": 3, "orders": 2, "p50Ms": 3, "p95Ms": 9,
            "received": 120, "gateways": [], "redisRestarts": 0,
            "faults": [{"id": each, "title": f"Break {each}", "expectation": "", "isPossible": True} for each in FAULTS],
        }
        page.route(f"{STAGE}/**", self._answer)
        page.goto(f"{STAGE}/")
        expect(page.locator("#faults button")).to_have_count(len(FAULTS))

    def _answer(self, route) -> None:
        path = route.request.url.removeprefix(STAGE).partition("?")[0]
        if path.startswith("/open/"):
            return route.fulfill(content_type="text/html", body=FRAME)
        if path == "/state":
            return route.fulfill(content_type="application/json", body=json.dumps(self.state))
        if route.request.method == "POST":
            self.asked.append(path)
            return route.fulfill(status=204)
        file = FILES / ("stage.html" if path == "/" else path.lstrip("/"))
        return route.fulfill(content_type=TYPES[file.suffix.lstrip(".")], body=file.read_text())

    def tab(self) -> str | None:
        self.page.keyboard.press("Tab")
        return self.page.evaluate(FOCUS)


@pytest.fixture
def stage(browser):
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US")
    yield Stage(context.new_page())
    context.close()


@pytest.mark.lean
def test_the_focus_goes_from_the_speed_through_the_pages_to_the_faults_as_they_are_seen(stage):
    expected = ["speed"]
    for page in PAGES:
        # The link, and the two buttons in the frame.
        expected += [f"/open/{page}", page, page]
    expected += [f"Break {fault}" for fault in FAULTS]
    assert [stage.tab() for _ in expected] == expected


@pytest.mark.lean
def test_a_fault_keeps_the_focus_while_it_happens_and_once_more_gives_it_to_the_plot(stage):
    fault = stage.page.get_by_role("button", name="Break redis")
    fault.focus()
    stage.state["faults"][1] |= {"isPossible": False, "isRunning": True}
    stage.page.keyboard.press("Enter")
    expect(stage.page.locator("#result-redis")).to_have_text("Happening now…")
    expect(fault).to_be_focused()
    # Another press does nothing meanwhile.
    expect(fault).to_have_attribute("aria-disabled", "true")
    stage.page.keyboard.press("Enter")
    stage.state["order"] |= {"isOver": True}
    again = stage.page.get_by_role("button", name="Once more")
    expect(again).to_be_visible()
    assert stage.asked == ["/faults/redis"]
    stage.page.locator("#speed").focus()
    stage.page.keyboard.press("Shift+Tab")
    expect(again).to_be_focused()
    stage.state["order"] = {"number": 2, "isOver": False, "isUnderway": False}
    stage.page.keyboard.press("Enter")
    expect(again).to_be_hidden()
    expect(stage.page.locator("#plot")).to_be_focused()
    assert stage.asked == ["/faults/redis", "/again"]
    expect(stage.page.locator("#customer")).to_have_attribute("src", re.compile("order=2"))
