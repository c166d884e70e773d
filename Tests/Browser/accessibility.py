"""axe over a page as it stands: no violation of WCAG 2.1 AA, or the test fails with each of them and where it is."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

STANDARD = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
OPTIONS = {"runOnly": {"type": "tag", "values": STANDARD}, "resultTypes": ["violations"]}


def assert_accessible(page: Page) -> None:
    """Call it once the page shows what is to be looked at: what is hidden is not looked at."""
    found = Axe().run(page, options=OPTIONS)
    assert found.violations_count == 0, f"axe on {page.url.split('#')[0]}:\n{found.generate_report()}"
