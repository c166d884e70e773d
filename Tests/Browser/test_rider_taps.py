"""D2: a double tap does not trigger a step that cannot be undone. The test controls the page's time: two taps are 250 ms
apart, and the button under the thumb may have changed in between."""

import secrets

import pytest
from playwright.sync_api import expect

from devices import ROME
from rider_page import RiderPage

LOCATED = {"permissions": ["geolocation"], "geolocation": ROME}
APART_MS = 250
DEAD_TIME_MS = 800
UNDO_MS = 10_000
A_WHILE_MS = 12_000


@pytest.fixture
def on_the_way(order_system, devices):
    """A rider without a zone, with a delivery that is ready for pickup."""
    person = f"rider-{secrets.token_hex(3)}"
    job = order_system.delivery("accepted", "preparing", "ready_for_pickup", rider=person)
    return RiderPage(order_system, devices, job.rider, job, clock=True, **LOCATED), job


def tap(rider, job) -> None:
    """The place of the button now, whatever it says."""
    box = rider.next(job).bounding_box()
    rider.page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


@pytest.mark.lean
def test_D2_a_double_tap_starts_a_delivery_without_completing_it(on_the_way):
    rider, job = on_the_way
    expect(rider.next(job)).to_have_text("Start delivery")
    tap(rider, job)
    expect(rider.next(job)).to_have_text("Delivered")
    rider.page.clock.run_for(APART_MS)
    tap(rider, job)
    expect(rider.next(job)).to_have_text("Delivered")
    # After the pause, two more taps only ask.
    rider.page.clock.run_for(DEAD_TIME_MS)
    tap(rider, job)
    expect(rider.next(job)).to_have_text("Delivered? Tap again to confirm")
    expect(rider.announcer).to_contain_text("Delivered? Tap again to confirm")
    rider.page.clock.run_for(APART_MS)
    tap(rider, job)
    expect(rider.next(job)).to_have_text("Delivered? Tap again to confirm")
    assert job.state["status"] == "in_transit"
    # The question goes away after a while.
    rider.page.clock.run_for(A_WHILE_MS)
    expect(rider.next(job)).to_have_text("Delivered")
    assert job.state["status"] == "in_transit"


@pytest.mark.lean
def test_D2_a_delivery_can_be_completed_by_keyboard(on_the_way, axe):
    rider, job = on_the_way
    rider.next(job).focus()
    rider.page.keyboard.press("Enter")
    expect(rider.next(job)).to_have_text("Delivered")
    expect(rider.next(job)).to_be_focused()
    rider.page.clock.run_for(DEAD_TIME_MS)
    # The gateway has answered the step before; until then the button ignores keys.
    expect(rider.next(job)).to_have_attribute("aria-disabled", "false")
    rider.page.keyboard.press("Enter")
    expect(rider.next(job)).to_have_text("Delivered? Tap again to confirm")
    axe(rider.page)
    rider.page.clock.run_for(DEAD_TIME_MS)
    rider.page.keyboard.press("Enter")
    undo = rider.card(job).get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    axe(rider.page)
    undo.focus()
    rider.page.keyboard.press("Enter")
    expect(undo).to_be_hidden()
    expect(rider.next(job)).to_be_focused()
    expect(rider.next(job)).to_have_text("Delivered")
    rider.page.clock.run_for(UNDO_MS)
    assert job.state["status"] == "in_transit"
    # This time the rider means it.
    rider.page.keyboard.press("Enter")
    expect(rider.next(job)).to_have_text("Delivered? Tap again to confirm")
    rider.page.clock.run_for(DEAD_TIME_MS)
    rider.page.keyboard.press("Enter")
    expect(undo).to_be_visible()
    rider.page.clock.run_for(UNDO_MS)
    expect(rider.card(job)).to_contain_text("Done. Thank you!")
    assert job.state["status"] == "delivered"
