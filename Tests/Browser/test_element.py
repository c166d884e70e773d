"""The web component `<enroute-job>` on the page of a shop, which has another origin than the gateway: the block of the npm
package's README, a strict content policy, a renewed token, accessibility and two languages."""

import contextlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

import bounds
from order_system import HOME, OrderSystem
from riders import Rider
from stage import ROOT, free_ports
from trips import to_the_door

pytestmark = pytest.mark.lean

PACKAGE = ROOT / "Sources/JavaScript"
# What a bundler does in a shop: it replaces the name of the package with a URL.
IMPORTS = '<script type="importmap">{"imports": {"@enroute/client/element": "/client/element.js"}}</script>'
MAIN = "import {defineEnrouteJob} from './client/element.js'; defineEnrouteJob();"


@contextlib.contextmanager
def shop(port: int):
    """Serves pages that the test sets, and the files of the package. Yields the pages by path, as (body, content policy)."""
    pages: dict[str, tuple[str, str]] = {}

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            path = urlsplit(self.path).path
            body, policy = pages.get(path, ("", ""))
            kind = "text/html; charset=utf-8"
            if path == "/main.js":
                body, kind = MAIN, "text/javascript"
            elif re.fullmatch(r"/client/[\w-]+\.js", path):
                body, kind = (PACKAGE / path.removeprefix("/client/")).read_text(), "text/javascript"
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body.encode())))
            if policy:
                self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield pages
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Place:
    """A site, a visit whose rider was seen, and a shop that may use the gateway."""

    def __init__(self, site, browser, devices, pages, origin):
        self.site, self.browser, self.devices, self.pages, self.origin = site, browser, devices, pages, origin
        self.sockets, self.contexts = [], []
        self.orders = OrderSystem(site)
        self.visit = self.orders.visit("on_the_way")
        self.rider = Rider(self.orders, self.visit).travel()
        self.report(0)

    def report(self, seconds: float) -> None:
        self.rider.report(to_the_door(HOME).at(seconds), is_answered=True)

    def token(self, **claims) -> str:
        return self.orders.token("customer", self.visit.customer, **claims)

    def page(self, content: str, *, language: str = "en", policy: str = "", head: str = "", **options):
        self.pages["/"] = (
            f'<!doctype html><html lang="{language}"><meta charset="utf-8"><title>Shop</title>{head}<main><h1>Shop</h1>'
            f"{content}</main></html>", policy)
        # A plain context, as in test_other_origins.py: with the options of `Devices`, preflights never reach the gateway.
        self.contexts.append(self.browser.new_context(**options))
        self.contexts[-1].set_default_timeout(bounds.PAGE_MS)
        self.devices.evidence.watch(self.contexts[-1])
        page = self.contexts[-1].new_page()
        page.on("websocket", lambda socket: self.sockets.append(socket))
        page.goto(f"{self.origin}/")
        return page

    @property
    def with_token(self) -> str:
        return (f'<enroute-job gateway="{self.site.url}" job="{self.visit.name}" token="{self.token()}"></enroute-job>'
                '<script type="module" src="/main.js"></script>')


@pytest.fixture
def place(make_site, open_devices, browser):
    [port] = free_ports(1)
    origin = f"http://127.0.0.1:{port}"
    site = make_site(LISTEN_ALLOWED_ORIGINS=origin)
    devices = open_devices(site)
    devices.evidence.expected_hosts.append(urlsplit(origin).netloc)
    with shop(port) as pages:
        place = Place(site, browser, devices, pages, origin)
        yield place
        place.rider.close()
        for context in place.contexts:
            context.close()


def test_the_block_of_the_README_shows_a_job_by_link_and_by_token(place):
    [block] = re.findall(r"^```html\n(.*?)^```$", (PACKAGE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    for documented, real in (
            ("https://track.example/track/visit-1#SECRET", place.visit.guest_url), ("https://track.example", place.site.url),
            ('job="visit-1"', f'job="{place.visit.name}"'), ("TOKEN", place.token())):
        assert documented in block
        block = block.replace(documented, real)
    page = place.page(block, head=IMPORTS)
    for name in ("#with-link", "#with-token"):
        expect(page.locator(f"{name} [part=status]")).to_have_text("Your technician is on the way")
        expect(page.locator(f"{name} [part=tracking]")).to_have_text("Live")
        expect(page.locator(f"{name} [part=status]")).to_have_css("color", "rgb(0, 100, 0)")
    place.visit.status("work_in_progress")
    for name in ("#with-link", "#with-token"):
        expect(page.locator(f"{name} [part=status]")).to_have_text("Your technician has arrived and is working")
        expect(page.locator(f"{name} [part=tracking]")).to_be_hidden()


def test_it_is_accessible_under_a_strict_content_policy(place, axe):
    gateway = f"{place.site.url} {place.site.url.replace('http', 'ws', 1)}"
    policy = f"default-src 'none'; script-src 'self'; connect-src {gateway}; require-trusted-types-for 'script'"
    page = place.page(place.with_token, policy=policy)
    expect(page.get_by_text("Your technician is on the way")).to_be_visible()
    # Announced: the status and the tracking state, and the connection, but not each minute of the arrival time.
    spoken = page.get_by_role("status")
    expect(spoken).to_have_count(2)
    expect(spoken.first).to_have_text("Your technician is on the wayLive")
    expect(page.locator("[role=status] [part=arrival]")).to_have_count(0)
    # The policy forbids the injected script that checks accessibility, so that is checked without it.
    axe(place.page(place.with_token))


def test_its_texts_have_the_language_of_the_page(place):
    page = place.page(place.with_token, language="de", locale="de-AT")
    expect(page.locator("[part=status]")).to_have_text("Ihr Techniker ist unterwegs")
    expect(page.locator("enroute-job div").first).to_have_attribute("lang", "de-AT")
    page.locator("enroute-job").evaluate("(element) => { element.lang = 'en'; }")
    expect(page.locator("[part=status]")).to_have_text("Your technician is on the way")


def test_a_renewed_token_keeps_the_connection_and_removal_ends_it(place):
    page = place.page(place.with_token)
    element = page.locator("enroute-job")
    expect(page.locator("[part=tracking]")).to_have_text("Live")
    element.evaluate("(element, token) => { element.setAttribute('token', token); }", place.token(lifetime=3000))
    # Moving it within the page changes nothing either.
    element.evaluate("(element) => { document.body.append(element); }")
    place.visit.status("work_in_progress")
    expect(page.locator("[part=status]")).to_have_text("Your technician has arrived and is working")
    [socket] = place.sockets
    assert not socket.is_closed()
    with socket.expect_event("close"):
        page.evaluate("window.removed = document.querySelector('enroute-job'); removed.remove();")
    assert page.evaluate("[removed.shadowRoot.textContent, removed.view.known]") == ["", False]


def test_a_job_that_may_not_be_seen_shows_only_the_reason(place):
    page = place.page(place.with_token)
    element = page.locator("enroute-job")
    expect(page.locator("[part=tracking]")).to_have_text("Live")
    element.evaluate("(element) => { element.setAttribute('job', 'none'); }")
    expect(page.locator("[part=status]")).to_have_text("We can’t find this order or visit.")
    expect(page.locator("[part=tracking]")).to_be_hidden()
    element.evaluate("(element) => { element.removeAttribute('job'); }")
    expect(page.locator("[part=status]")).to_have_text("")


def test_a_gateway_without_a_scheme_is_refused_before_the_token_is_sent(place):
    page = place.page(place.with_token.replace(f'gateway="{place.site.url}"', 'gateway="track.example"'))
    with page.expect_console_message(lambda message: "This is not a valid address: track.example/v1" in message.text):
        page.reload()
    assert place.sockets == []


def test_a_lost_connection_is_shown_and_elements_share_a_client(place):
    page = place.page('<script type="module" src="/main.js"></script>')
    page.wait_for_function("customElements.get('enroute-job') !== undefined")
    page.evaluate("""async ({gateway, job, token}) => {
      const {Enroute} = await import('/client/enroute.js');
      const client = new Enroute({url: `${gateway}/v1`, credential: async () => ({token})});
      for (const id of ['one', 'two']) {
        const element = Object.assign(document.createElement('enroute-job'), {id, client});
        element.setAttribute('job', job);
        document.querySelector('main').append(element);
      }
      client.start();
    }""", {"gateway": place.site.url, "job": place.visit.name, "token": place.token()})
    for name in ("#one", "#two"):
        expect(page.locator(f"{name} [part=tracking]")).to_have_text("Live")
    assert len(place.sockets) == 1
    place.site.gateways[0].process.kill()
    for name in ("#one", "#two"):
        expect(page.locator(f"{name} [part=note]")).to_have_text("No connection. Trying to reconnect…")
        expect(page.locator(f"{name} [part=updated]")).to_have_text(re.compile("^Last updated "))
