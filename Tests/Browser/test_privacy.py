"""Point 22: who can see a rider's location, how access ends, and that nothing stays behind in a browser."""

import re

import pytest
from playwright.sync_api import Page, expect

import bounds
from assets import fetch
from markers import RIDER
from order_system import HOME, Refused
from trips import to_the_door

PAGES = ["/track/nothing", "/rider", "/ops"]
POLICY = {
    "default-src": "'none'", "script-src": "'self'", "style-src": "'self' 'unsafe-inline'", "img-src": "'self' data:",
    "font-src": "'self'", "connect-src": "'self'", "manifest-src": "'self'", "worker-src": "'self'", "base-uri": "'none'",
    "form-action": "'none'", "frame-ancestors": "'none'",
}
# Long enough for a slow machine to open a page.
SHORT_SECONDS = 20
TRIP = to_the_door(HOME)
# Everything a page could store, by name, so that a failure says where.
KEPT = """async () => {
  const kept = {cookies: document.cookie, local: JSON.stringify({...localStorage})};
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      kept[`cache ${name} ${request.url}`] = await (await cache.match(request)).text();
    }
  }
  for (const {name} of await indexedDB.databases()) kept[`database ${name}`] = await new Promise((done, fail) => {
    const opening = indexedDB.open(name);
    opening.onerror = fail;
    opening.onsuccess = async () => {
      const all = [];
      for (const store of opening.result.objectStoreNames) {
        all.push(await new Promise((got) => {
          opening.result.transaction(store).objectStore(store).getAll().onsuccess = (event) => got(event.target.result);
        }));
      }
      done(JSON.stringify(all));
    };
  });
  return kept;
}"""


@pytest.fixture
def on_the_way(order_system, rider):
    """A visit whose rider is visible."""
    visit = order_system.visit("on_the_way")
    rider(visit).travel().report(TRIP.at(0), is_answered=True)
    return visit


def is_refused(page: Page) -> None:
    """Checks that the page shows that there is nothing to follow, and no rider."""
    expect(page.locator("#refusal")).to_be_visible()
    expect(page.locator(RIDER)).to_be_hidden()


# The end of a link


def test_point_22_an_expired_link_ends_its_sessions(on_the_way, phone):
    url = on_the_way.link(expires_in=SHORT_SECONDS)["url"]
    page = phone(url)
    expect(page.locator(RIDER)).to_be_visible()
    is_refused(page)
    is_refused(phone(url))


@pytest.mark.lean
def test_point_22_a_revoked_link_ends_immediately_on_every_device(on_the_way, order_system, phone, desktop):
    link = on_the_way.link()
    pages = [phone(link["url"]), desktop(link["url"])]
    for page in pages:
        expect(page.locator(RIDER)).to_be_visible()
    order_system.revoke("links", link["id"])
    for page in pages:
        is_refused(page)
    page.reload()
    is_refused(page)


def test_point_22_no_link_lives_longer_than_four_hours(on_the_way):
    with pytest.raises(Refused) as refusal:
        on_the_way.link(expires_in=bounds.LINK_SECONDS + 1)
    assert refusal.value.status == 422


def test_point_22_a_link_ends_with_its_job(on_the_way, phone):
    url = on_the_way.guest_url
    on_the_way.status("work_in_progress", "completed")
    is_refused(phone(url))


def test_point_22_a_viewer_over_the_limit_of_a_link_reads_so(on_the_way, phone):
    url = on_the_way.link(viewers=1)["url"]
    first = phone(url)
    expect(first.locator(RIDER)).to_be_visible()
    is_refused(phone(url))
    expect(first.locator(RIDER)).to_be_visible()


@pytest.mark.lean
def test_point_21_an_unknown_job_a_wrong_secret_and_someone_elses_job_look_the_same(
        on_the_way, order_system, phone, site):
    other = order_system.visit("on_the_way")
    secret = on_the_way.link()["link"]
    texts = set()
    for url in (f"/track/nobody#{secret}", f"/track/{on_the_way.name}#{'0' * len(secret)}",
                f"/track/{other.name}#{secret}"):
        page = phone(url)
        is_refused(page)
        texts.add(page.locator("main").inner_text())
    assert len(texts) == 1


# Addresses


@pytest.mark.lean
def test_point_22_a_link_is_opaque_and_its_secret_reaches_no_request(on_the_way, phone, evidence):
    link, again = on_the_way.link(), on_the_way.link()
    assert re.fullmatch(r"[0-9a-f]{32,}", link["link"]) and link["link"] != again["link"]
    assert on_the_way.customer not in link["url"]
    page = phone(link["url"])
    expect(page.locator(RIDER)).to_be_visible()
    assert not [url for url in evidence.requests + evidence.sockets if link["link"] in url]


@pytest.mark.lean
def test_point_22_a_sign_in_code_leaves_the_address_bar_and_works_once(
        on_the_way, order_system, phone, evidence):
    url = order_system.sign_in_url(f"/track/{on_the_way.name}", "customer", on_the_way.customer)
    page = phone(url)
    expect(page.locator(RIDER)).to_be_visible()
    code = url.rsplit(".", 1)[1]
    assert "#" not in page.url and code not in page.url
    assert evidence.tokens_in_addresses == [] and not [each for each in evidence.requests if code in each]
    assert "eyJ" in page.evaluate("sessionStorage.getItem('enroute.token')")
    page.reload()
    expect(page.locator(RIDER)).to_be_visible()
    second = phone(url)
    expect(second.locator("#signin-problem")).to_contain_text("That code has expired or was already used")
    expect(second.locator("#order")).to_be_hidden()


# What others can see, and what stays


@pytest.mark.lean
@pytest.mark.parametrize("path", PAGES)
def test_point_22_pages_send_no_referrer_and_are_not_indexed(path, site):
    status, headers, _ = fetch(site.url + path)
    assert status == 200
    assert headers["referrer-policy"] == "no-referrer"
    assert "noindex" in headers["x-robots-tag"]
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["permissions-policy"].replace(" ", "") == "geolocation=(self)"


@pytest.mark.lean
@pytest.mark.parametrize("path", PAGES)
def test_the_content_policy_allows_only_the_pages_own_scripts(path, site):
    _, headers, body = fetch(site.url + path)
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";") if part.strip())
    assert {name: policy.get(name) for name in POLICY} == POLICY
    inline = re.findall(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>", body.decode())
    assert inline == [] and not re.search(rb"\son[a-z]+\s*=", body)


def test_point_22_no_location_stays_in_the_browser(on_the_way, order_system, phone):
    secret = on_the_way.link()["link"]
    page = phone(f"/track/{on_the_way.name}#{secret}", service_workers="allow")
    expect(page.locator(RIDER)).to_be_visible()
    page.evaluate("navigator.serviceWorker.getRegistration().then((found) => found && navigator.serviceWorker.ready)")
    page.reload()
    expect(page.locator(RIDER)).to_be_visible()
    position = on_the_way.state["position"]
    telling = [secret, str(position["lat"]), str(position["lon"]), '"position":{', "eyJ"]
    for place, text in page.evaluate(KEPT).items():
        assert not [word for word in telling if word in text], place
