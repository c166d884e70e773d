"""A message on the customer's device when the rider is near (Web Push). What the gateway sends to a push service is tested in
Swift (PushTests); here the page subscribes, and the worker shows what the browser delivers."""

import json
import subprocess

import pytest
from playwright.sync_api import expect

from order_system import OrderSystem

# The browser of this machine has no push service, so its subscription is made up; everything else is real.
SUBSCRIBES = """
  const key = new Uint8Array(65).fill(1); key[0] = 4;
  PushManager.prototype.getSubscription = async () => null;
  PushManager.prototype.subscribe = async (options) => ({toJSON: () => ({
    endpoint: 'https://push.example/1', keys: {
      p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
      auth: 'BTBZMqHH6r4Tts7J_aSIgg'}})});
"""


@pytest.fixture
def browser(browser_with_windows):
    return browser_with_windows


@pytest.fixture(params=["", "/shop"])
def pushing(make_site, tmp_path, request):
    """A site that sends push messages, also below a path prefix."""
    key = tmp_path / "push.pem"
    subprocess.run(["openssl", "ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", key], check=True)
    return make_site(PUSH_KEY_FILE=str(key), PUSH_CONTACT="mailto:ops@example.com", prefix=request.param)


@pytest.mark.lean
def test_point_web_push_a_message_is_offered_stored_and_shown_by_the_worker(pushing, open_devices, axe):
    orders = OrderSystem(pushing)
    delivery = orders.delivery("accepted")
    page = open_devices(pushing).phone(service_workers="allow")
    origin = pushing.url.removesuffix(pushing.prefix)
    page.context.grant_permissions(["notifications"], origin=origin)
    page.add_init_script(SUBSCRIBES)
    session, registrations = page.context.new_cdp_session(page), []
    session.on("ServiceWorker.workerRegistrationUpdated", lambda event: registrations.extend(event["registrations"]))
    session.send("ServiceWorker.enable")
    page.goto(delivery.guest_url)
    offer = page.get_by_role("button", name="Notify me 2 minutes before arrival")
    expect(offer).to_be_visible()
    axe(page)
    offer.click()
    expect(page.get_by_role("button", name="Turn off this notification")).to_be_visible()
    expect(page.locator("#announcer")).to_contain_text("about 2 minutes before")
    assert pushing.redis_says("HLEN", f"job:{{{delivery.name}}}:push") == "1"
    page.reload()
    expect(page.get_by_role("button", name="Turn off this notification")).to_be_visible()
    assert page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    session.send("ServiceWorker.deliverPushMessage", {
        "origin": origin, "registrationId": registrations[0]["registrationId"],
        "data": json.dumps({"type": "near", "job": delivery.name, "seconds": 118})})
    page.wait_for_function("""async () => (await (await navigator.serviceWorker.ready).getNotifications())
      .some(({title, body}) => title === 'About 2 minutes away' && body === 'Your order is almost there.')""")
    # Shown once; the page that is open still offers to switch it off.
    page.get_by_role("button", name="Turn off this notification").click()
    expect(offer).to_be_visible()
    assert pushing.redis_says("HLEN", f"job:{{{delivery.name}}}:push") == "0"


@pytest.mark.lean
def test_point_web_push_nothing_is_offered_by_a_gateway_without_a_key(coming, phone):
    job, _ = coming()
    page = phone(job.guest_url)
    expect(page.locator("#headline")).to_have_text("Your technician is on the way")
    expect(page.locator("#tell")).to_be_hidden()
