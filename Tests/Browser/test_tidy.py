"""Checks the style of the pages and their tests, as TidyTests does for Swift and Lua."""

import re
from pathlib import Path

import pytest

from stage import PAGES, ROOT

LONGEST_LINES = 400
LEAST_IDEA = 30                # characters of the opening comment
TESTS = ROOT / "Tests/Browser"
OPENING = {
    ".js": re.compile(r"\s*(?:// ?[^\n]*\n|/\*.*?\*/)+", re.DOTALL), ".mjs": re.compile(r"\s*(?:// ?[^\n]*\n)+"),
    ".css": re.compile(r"\s*/\*.*?\*/", re.DOTALL), ".py": re.compile(r'\s*""".*?"""', re.DOTALL),
}
# A fixed time is too short for a slow machine. An `Event` that can be set may pace a rider.
SLEEPS = re.compile(r"""\bsleep\(|\bwait_for_timeout\b|["']networkidle|\bPromise\([^;]*?=>[^;]*?\bsetTimeout\b"""
                    r"""|\bsetTimeout\(\w+, (?:\d{3,}|[A-Z_]+)\)""")
# The first three poll for something that nothing announces. In moving.py and test_webhooks.py clients pause between attempts,
# and webhook_receiver.py is a slow endpoint.
MAY_SLEEP = {"processes.py", "waiting.py", "gateway.mjs", "moving.py", "test_webhooks.py", "webhook_receiver.py"}

pytestmark = pytest.mark.lean


def files() -> list[Path]:
    folders = [PAGES, TESTS, ROOT / "Tests/Stage", ROOT / "Tests/Deploy", ROOT / "Tests/JavaScript"]
    found = {folder: [path for path in sorted(folder.rglob("*")) if path.suffix in OPENING and "__pycache__" not in path.parts]
             for folder in folders}
    assert all(found.values()), "a rule for no file holds always"
    return [path for paths in found.values() for path in paths]


def test_no_file_has_more_than_400_lines():
    long = {path.name: count for path in files() if (count := len(path.read_text().splitlines())) > LONGEST_LINES}
    assert long == {}


def test_every_file_opens_with_its_purpose():
    assert [path.name for path in files()
            if not (found := OPENING[path.suffix].match(path.read_text())) or len(found.group()) < LEAST_IDEA] == []


def test_no_test_sleeps():
    assert [path.name for path in files()
            if path.is_relative_to(ROOT / "Tests") and path.name not in MAY_SLEEP and path != Path(__file__)
            and SLEEPS.search(path.read_text())] == []


def test_packages_from_PyPI_are_pinned():
    lines = [line for folder in (TESTS, ROOT / "Tests/Deploy")
             for line in (folder / "requirements.txt").read_text().splitlines() if line and line[0] != "#"]
    assert lines and all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in lines)


def test_no_page_contains_the_address_of_another_site():
    """Addresses in comments and namespaces are never requested; those in code would be."""
    namespaces = re.compile(r"http://www\.w3\.org/\d{4}/\w+")
    comments = re.compile(r"/\*.*?\*/|^\s*(?://|\*).*?$|<!--.*?-->", re.DOTALL | re.MULTILINE)
    code = {path.name: comments.sub("", path.read_text())
            for path in PAGES.iterdir() if path.suffix in (".js", ".css", ".html")}
    assert {name: found for name, text in code.items()
            if (found := re.findall(r"https?://[\w.-]+\.\w+", namespaces.sub("", text)))} == {}
