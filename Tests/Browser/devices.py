"""Browsers as people use them: a phone, a small phone, a desktop; light or dark, with a language, a clock and reduced
motion. Each page has its own context, so they share nothing but the site."""

import os
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, Page

import bounds
from evidence import Evidence

WITH_WINDOWS = "/usr/bin/chromium"
# The whole browser draws a window with tabs and buttons for every page, which takes three times the processor time of the
# page itself. ENROUTE_CHROMIUM selects another one.
WITHOUT_WINDOWS = Path("/usr/lib/chromium/chromium-headless-shell")
CHROMIUM = os.environ.get("ENROUTE_CHROMIUM") or (str(WITHOUT_WINDOWS) if WITHOUT_WINDOWS.exists() else WITH_WINDOWS)
# Nothing leaves the machine, not even Chromium's own requests.
ARGUMENTS = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
             "--disable-background-networking", "--disable-component-update", "--no-first-run"]
# The default location of a phone.
ROME = {"latitude": 41.89, "longitude": 12.48, "accuracy": 8}


class Devices:
    """Opens pages, and closes them at the end of the test."""

    def __init__(self, browser: Browser, evidence: Evidence, base_url: str):
        self._browser, self._evidence, self._base_url = browser, evidence, base_url
        self._contexts: list[BrowserContext] = []

    def open(
        self, path: str | None = None, *, width: int, height: int, is_phone: bool = False, dark: bool = False,
        reduced_motion: bool = False, forced_colors: bool = False, locale: str = "en-US",
        timezone: str = "America/New_York", permissions: list[str] | None = None, geolocation: dict | None = None,
        scale: float = 1, clock: bool = False, service_workers: Literal["allow", "block"] = "block", **more,
    ) -> Page:
        """A page in its own context, at `path` or at a whole URL.

        `clock`: the test controls the page's time (`page.clock`). `scale`: device pixels. Service workers would answer
        from their caches, so they are blocked except in tests about them."""
        context = self._browser.new_context(
            base_url=self._base_url, ignore_https_errors=True, viewport={"width": width, "height": height},
            is_mobile=is_phone, has_touch=is_phone, device_scale_factor=scale, color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if reduced_motion else "no-preference",
            forced_colors="active" if forced_colors else "none", locale=locale, timezone_id=timezone,
            permissions=permissions, geolocation=geolocation, service_workers=service_workers, **more)
        self._contexts.append(context)
        context.set_default_timeout(bounds.PAGE_MS)
        self._evidence.watch(context)
        page = context.new_page()
        if clock:
            page.clock.install()
        if path is not None:
            page.goto(path)
        return page

    def phone(self, path: str | None = None, **options) -> Page:
        """390 by 844."""
        return self.open(path, **{"width": 390, "height": 844, "is_phone": True} | options)

    def small_phone(self, path: str | None = None, **options) -> Page:
        """320 px wide, which is also a desktop of 1280 px at 400 % zoom."""
        return self.open(path, **{"width": 320, "height": 568, "is_phone": True} | options)

    def desktop(self, path: str | None = None, **options) -> Page:
        """1280 by 800."""
        return self.open(path, **{"width": 1280, "height": 800} | options)

    def close(self) -> None:
        for context in self._contexts:
            context.close()
