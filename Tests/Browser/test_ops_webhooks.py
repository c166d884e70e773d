"""The card of the webhooks on the operations page: how endpoints respond, and what they have not received."""

import json
import secrets
import time

import pytest
from playwright.sync_api import expect


@pytest.fixture
def webhook(order_system):
    """An endpoint whose host does not exist, so every attempt fails."""
    host = f"receiver-{secrets.token_hex(3)}.invalid"
    made = order_system.ask("POST", "webhooks", {"url": f"https://{host}/hooks", "types": ["enroute.job.erased"]})
    yield made | {"host": host}
    order_system.ask("DELETE", f"webhooks/{made['id']}")


def give_up(site, webhook: dict, subject: str) -> None:
    """Lists an event as undelivered, as settle_event.lua does after the last attempt."""
    now = int(time.time() * 1000)
    event_id = f"8k2p.3.{now}"
    event = {"specversion": "1.0", "id": event_id, "type": "enroute.job.closed", "subject": subject, "data": {}}
    body = json.dumps(event, separators=(",", ":"))
    site.redis_says("XADD", f"webhook:{{{webhook['id']}}}:dead", "*", "subject", subject, "event", f"{event_id} {body}",
                    "reason", "status 500", "attempts", "8")


@pytest.fixture
def card(desktop, phone, order_system, webhook):
    def open_page(device=desktop, role="ops", **options):
        page = device(order_system.sign_in_url("/ops?tab=system", role, "olga"), **options)
        return page, page.locator(f"#webhooks [data-webhook={webhook['id']}]")

    return open_page


@pytest.mark.lean
def test_staff_see_an_endpoint_that_does_not_work_and_test_it(card, webhook, axe):
    page, item = card()
    expect(item).to_contain_text(f"{webhook['host']}/hooks")
    expect(item).to_contain_text("accepting")
    expect(item).not_to_contain_text("Deliver again")
    test = item.get_by_role("button", name=f"Send a test: {webhook['host']}")
    test.focus()
    page.keyboard.press("Enter")
    expect(item).to_contain_text("The endpoint did not accept the test:")
    expect(page.locator("#announcer")).to_contain_text("did not accept the test")
    expect(test).to_be_focused()
    axe(page)
    assert "whsec_" not in page.content()


@pytest.mark.lean
def test_staff_read_undelivered_events_and_deliver_them_again(card, site, webhook, axe):
    for number in range(2):
        give_up(site, webhook, f"job-{number}")
    page, item = card()
    show = item.get_by_role("button", name=f"Show events: {webhook['host']}")
    show.click()
    expect(item.locator("ol li")).to_have_count(2)
    expect(item.locator("ol li").first).to_contain_text("job.closed job-0: status 500 (8 attempts)")
    hide = item.get_by_role("button", name=f"Hide events: {webhook['host']}")
    expect(hide).to_have_attribute("aria-expanded", "true")
    axe(page)
    item.get_by_role("button", name=f"Deliver again: {webhook['host']}").click()
    expect(item).to_contain_text("2 events will be delivered again.")
    expect(item.locator("ol")).to_have_count(0)
    assert site.redis_says("XLEN", f"webhook:{{{webhook['id']}}}:dead") == "0"


def test_the_card_is_in_german_and_fits_a_phone(card, phone, site, webhook, axe):
    give_up(site, webhook, "job-1")
    page, item = card(phone, locale="de-DE")
    expect(item).to_contain_text("Nicht zugestellt")
    item.get_by_role("button", name=f"Ereignisse zeigen: {webhook['host']}").click()
    expect(item.locator("ol li")).to_contain_text("8 Versuche")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    axe(page)
