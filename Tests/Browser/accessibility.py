"""Runs axe on a page in its current state. A violation of WCAG 2.1 AA fails the test with its place in the page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

STANDARD = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
OPTIONS = {"runOnly": {"type": "tag", "values": STANDARD}, "resultTypes": ["violations"]}
# The rules whose results depend on colors, and therefore on the theme. They take most of the time.
OF_COLOURS = ("color-contrast", "link-in-text-block")


def assert_accessible(page: Page, rules: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> None:
    """Call it when the page shows what you want to check; hidden content is not checked.

    `rules`: axe's names of the rules to check, also those that are best practices, instead of the whole standard.
    `without`: rules of the standard to leave out."""
    options = OPTIONS | {"runOnly": {"type": "rule", "values": list(rules)}} if rules else OPTIONS
    options = options | {"rules": {rule: {"enabled": False} for rule in without}}
    found = Axe().run(page, options=options)
    assert found.violations_count == 0, f"axe on {page.url.split('#')[0]}:\n{found.generate_report()}"
