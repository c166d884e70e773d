"""The reports of a browser during a test: its console, uncaught errors, violations of the content policy, every
request. It is stored with screenshots when a test fails. No test may cause an uncaught error, a policy violation, a
request to another origin, or a token in an address."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page

JWT = re.compile(r"eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]{5,}")
POLICY = re.compile(r"Content Security Policy|Permissions[- ]Policy", re.IGNORECASE)
OF_THE_BROWSER = ("data", "blob", "about", "chrome", "chrome-extension", "devtools")
TELL_VIOLATIONS = """addEventListener('securitypolicyviolation', (event) =>
  console.error(`Content Security Policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`))"""


@dataclass
class Evidence:
    """The evidence of all pages of one test. `origin` is the site's origin."""

    origin: str
    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    answers: list[tuple[int, str]] = field(default_factory=list)
    sockets: list[str] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    # Uncaught errors that the test expects, as regular expressions.
    expected_errors: list[str] = field(default_factory=list)
    # Hosts that the test allows pages to load images from.
    expected_hosts: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        context.add_init_script(TELL_VIOLATIONS)
        context.on("console", lambda message: self.console.append(f"{message.type}: {message.text}"))
        context.on("weberror", lambda error: self.errors.append(error.error.stack or str(error.error)))
        context.on("request", lambda request: self.requests.append(request.url))
        context.on("response", lambda answer: self.answers.append((answer.status, answer.url)))
        context.on("page", self._watch_page)

    def _watch_page(self, page: Page) -> None:
        self.pages.append(page)
        page.on("websocket", lambda socket: self.sockets.append(socket.url))

    # What no test may cause

    @property
    def to_others(self) -> list[str]:
        """Requests and sockets to other origins."""
        ours = [urlsplit(self.origin).netloc, *self.expected_hosts]
        return [url for url in self.requests + self.sockets
                if urlsplit(url).scheme not in OF_THE_BROWSER and urlsplit(url).netloc not in ours]

    @property
    def policy_violations(self) -> list[str]:
        return [line for line in self.console if POLICY.search(line)]

    @property
    def tokens_in_addresses(self) -> list[str]:
        addresses = self.requests + self.sockets + [page.url for page in self.pages]
        return [JWT.sub("<token>", url) for url in addresses if JWT.search(url)]

    @property
    def offences(self) -> list[str]:
        uncaught = [error for error in self.errors
                    if not any(re.search(known, error) for known in self.expected_errors)]
        return ([f"uncaught error: {error}" for error in uncaught]
                + [f"content policy: {line}" for line in self.policy_violations]
                + [f"request to somebody else: {url}" for url in self.to_others]
                + [f"token in an address: {url}" for url in self.tokens_in_addresses])

    # Evidence that is stored after a failure

    def keep(self, folder: Path) -> None:
        """Stores screenshots, texts and logs if the browser still responds. All coordinates in them are invented."""
        folder.mkdir(parents=True, exist_ok=True)
        said = {"origin": self.origin, "errors": self.errors, "offences": self.offences, "console": self.console,
                "sockets": self.sockets, "answers": self.answers}
        (folder / "evidence.json").write_text(json.dumps(said, indent=1))
        for number, page in enumerate(self.pages, 1):
            if page.is_closed():
                continue
            try:
                address = JWT.sub("<token>", page.url)
                (folder / f"page-{number}.html").write_text(f"<!-- {address} -->\n{page.content()}")
                page.screenshot(path=folder / f"page-{number}.png", timeout=5_000)
            except Exception as reason:  # The failure may be that the page hangs.
                (folder / f"page-{number}.txt").write_text(f"no screenshot: {reason}")
