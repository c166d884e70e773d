"""A message on the customer's device when the rider is near (Web Push). What the gateway sends to a push service is tested in
Swift (PushTests); here the page subscribes, and the worker shows what the browser delivers."""

import json
import subprocess

import pytest
from playwright.sync_api import expect

from order_system import OrderSystem

# The browser of this machine has no push service, so its subscription is made up; everything else is real. Like a real one, it
# survives a reload.
SUBSCRIBES = """
  const subscription = {toJSON: () => ({
    endpoint: 'https://push.example/1', keys: {
      p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
      auth: 'BTBZMqHH6r4Tts7J_aSIgg'}})};
  PushManager.prototype.getSubscription = async () => (sessionStorage.getItem('subscribed') ? subscription : null);
  PushManager.prototype.subscribe = async () => { sessionStorage.setItem('subscribed', 'yes'); return subscription; };
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
    expect(page.locator("#told")).to_have_text("We’ll notify you on this device about 2 minutes before arrival.")
    assert pushing.redis_says("HLEN", f"job:{{{delivery.name}}}:push") == "1"
    page.reload()
    expect(page.get_by_role("button", name="Turn off this notification")).to_be_visible()
    assert page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    session.send("ServiceWorker.deliverPushMessage", {
        "origin": origin, "registrationId": registrations[0]["registrationId"],
        "data": json.dumps({"type": "near", "job": delivery.name, "seconds": 118})})
    page.wait_for_function("""async () => (await (await navigator.serviceWorker.ready).getNotifications())
      .some(({title, body}) => title === 'About 2 minutes away' && body === 'Your order is almost there.')""")
    # Shown once; the open page still offers to switch it off.
    page.get_by_role("button", name="Turn off this notification").click()
    expect(offer).to_be_visible()
    assert pushing.redis_says("HLEN", f"job:{{{delivery.name}}}:push") == "0"


@pytest.mark.parametrize("pushing", [""], indirect=True)
def test_a_failure_is_visible_and_a_browser_without_the_worker_can_try_again(pushing, open_devices, axe):
    delivery = OrderSystem(pushing).delivery("accepted")
    # Service workers are blocked, so `ready` never settles.
    page = open_devices(pushing).phone()
    page.context.grant_permissions(["notifications"], origin=pushing.url)
    page.clock.install()
    page.goto(delivery.guest_url)
    offer, told = page.locator("#tell"), page.locator("#told")
    for _ in range(2):
        offer.click()
        expect(offer).to_have_attribute("aria-busy", "true")
        expect(told).to_be_hidden()
        page.clock.run_for(10_000)
        expect(told).to_have_text("That didn’t work. Please try again.")
        expect(offer).to_have_attribute("aria-busy", "false")
    axe(page)


@pytest.mark.parametrize("pushing", [""], indirect=True)
def test_a_dismissed_question_is_not_called_blocked(pushing, open_devices):
    page = open_devices(pushing).phone()
    page.add_init_script("""
      Object.defineProperty(Notification, 'permission', {get: () => 'default'});
      Notification.requestPermission = async () => 'default';
    """)
    page.goto(OrderSystem(pushing).delivery("accepted").guest_url)
    page.locator("#tell").click()
    expect(page.locator("#told")).to_have_text(
        "You haven’t allowed notifications yet. Try again, and allow them when your browser asks.")
    expect(page.locator("#tell")).to_be_visible()


@pytest.mark.lean
def test_point_web_push_nothing_is_offered_by_a_gateway_without_a_key(coming, phone):
    job, _ = coming()
    page = phone(job.guest_url)
    expect(page.locator("#headline")).to_have_text("Your technician is on the way")
    expect(page.locator("#tell")).to_be_hidden()
