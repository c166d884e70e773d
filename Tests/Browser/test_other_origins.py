"""Web apps on their own origin, in Chromium: with the allowed origin the client, REST, event streams, errors and a
framed tracking page work; a page of any other origin gets nothing but the client modules and the interface documents."""

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from order_system import OrderSystem
from stage import free_ports

pytestmark = pytest.mark.lean

# A web app: what it can do with the gateway's URL, a token and a job. Every result is a value, and a failure is its error.
APP = """async ({gateway, token, job}) => {
  const attempt = async (action) => { try { return await action(); } catch (error) { return `${error.name}`; } };
  const api = (path, options = {}) => fetch(`${gateway}/api/v1/${path}`, {
    ...options, headers: {Authorization: `Bearer ${token}`, ...options.headers},
  });
  const results = {};
  results.texts = await attempt(async () => Object.keys(await (await fetch(`${gateway}/api/v1/texts`)).json()).length > 0);
  results.read = await attempt(async () => {
    const answer = await api(`jobs/${job}`, {headers: {traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'}});
    results.tag = answer.headers.get('ETag');
    results.trace = answer.headers.get('traceresponse');
    return answer.status;
  });
  results.change = await attempt(async () => (await api(`jobs/${job}/status`, {
    method: 'POST', body: JSON.stringify({status: 'on_the_way'}),
    headers: {'Content-Type': 'application/json', 'Idempotency-Key': `key-${job}`, 'If-Match': results.tag ?? '"1-1"'},
  })).status);
  results.error = await attempt(async () => (await (await api('jobs/none')).json()).code);
  results.stream = await attempt(async () => {
    const answer = await api(`jobs/${job}/events`, {headers: {'Last-Event-ID': ''}, signal: AbortSignal.timeout(20_000)});
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('data: ')) {
      const {value, done} = await reader.read();
      if (done) break;
      text += value;
    }
    await reader.cancel();
    return text.includes('data: ');
  });
  results.cookies = await attempt(async () => (await fetch(`${gateway}/api/v1/texts`, {credentials: 'include'})).status);
  results.documents = await attempt(async () => {
    const answers = await Promise.all(['openapi', 'asyncapi'].map((name) => fetch(`${gateway}/${name}.json`)));
    return answers.map((answer) => answer.status).join();
  });
  results.page = await attempt(async () => (await fetch(`${gateway}/rider`)).status);
  results.module = await attempt(async () => typeof (await import(`${gateway}/assets/enroute.js`)).Enroute);
  results.socket = await new Promise((resolve) => {
    const socket = new WebSocket(`${gateway.replace('http', 'ws')}/v1`, ['enroute.v1']);
    socket.onopen = () => { socket.close(); resolve('open'); };
    socket.onerror = () => resolve('refused');
  });
  results.followed = results.socket === 'open' && await attempt(async () => {
    const {Enroute} = await import(`${gateway}/assets/enroute.js`);
    const enroute = new Enroute({url: `${gateway}/v1`, credential: async () => ({token})});
    const status = await new Promise((resolve) => {
      enroute.follow(job, (view) => { if (view.known) resolve(view.status); });
      enroute.start();
    });
    enroute.stop();
    return status;
  });
  return results;
}"""


@contextlib.contextmanager
def web_app(port: int):
    """Serves an empty page on 127.0.0.1, whose origin is not the gateway's."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            body = b"<!doctype html><title>app</title>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def two_apps(make_site):
    """A site that allows one of two web apps: the site, the allowed app's origin, the other app's."""
    ports = free_ports(2)
    allowed = f"http://127.0.0.1:{ports[0]}"
    site = make_site(LISTEN_ALLOWED_ORIGINS=f"{allowed},capacitor://localhost", PAGES_FRAME_ANCESTORS=allowed)
    with web_app(ports[0]) as ours, web_app(ports[1]) as others:
        yield site, ours, others


@pytest.fixture
def app_page(browser):
    """app_page(origin): a page of a web app, in a context of its own."""
    contexts = []

    def open_page(origin: str):
        contexts.append(browser.new_context())
        page = contexts[-1].new_page()
        page.goto(origin)
        return page

    yield open_page
    for context in contexts:
        context.close()


def used(page, site, orders, job) -> dict:
    return page.evaluate(APP, {"gateway": site.url, "token": orders.token("service", "orders"), "job": job.name})


def test_a_web_app_of_an_allowed_origin_can_use_everything(two_apps, app_page):
    site, ours, _ = two_apps
    orders = OrderSystem(site)
    visit = orders.visit()
    results = used(app_page(ours), site, orders, visit)
    tag, trace = results.pop("tag"), results.pop("trace")
    assert tag.startswith('"') and trace.startswith("00-0af7651916cd43dd8448eb211c80319c-")
    assert results == {
        "texts": True, "read": 200, "change": 200, "error": "not_found", "stream": True, "documents": "200,200",
        "module": "function", "socket": "open", "followed": "on_the_way",
        # Never with the browser's credentials, and no page.
        "cookies": "TypeError", "page": "TypeError",
    }
    assert visit.state["status"] == "on_the_way"


def test_a_web_app_of_another_origin_gets_nothing(two_apps, app_page):
    site, _, others = two_apps
    orders = OrderSystem(site)
    visit = orders.visit()
    results = used(app_page(others), site, orders, visit)
    refused = dict.fromkeys(("texts", "read", "change", "error", "stream", "cookies", "page"), "TypeError")
    assert results == refused | {
        "documents": "200,200", "module": "function", "socket": "refused", "followed": False}
    assert visit.state["status"] == "assigned"
    log = site.gateways[0].log
    assert "request refused: origin not allowed" in log and f"origin={others}" in log


def test_only_a_listed_page_can_frame_the_tracking_page(two_apps, app_page):
    site, ours, others = two_apps
    visit = OrderSystem(site).visit("on_the_way")
    frame = "(url) => { const frame = document.createElement('iframe'); frame.src = url; document.body.append(frame); }"
    page = app_page(ours)
    page.evaluate(frame, visit.guest_url)
    expect(page.frame_locator("iframe").locator("#headline")).to_be_visible()
    page = app_page(others)
    with page.expect_console_message(lambda message: "frame-ancestors" in message.text or "frame" in message.text):
        page.evaluate(frame, visit.guest_url)
    assert page.frame_locator("iframe").locator("#headline").count() == 0
