"""D2: a double tap does not trigger a step that cannot be undone. The test controls the page's time: two taps are 250 ms
apart, and the button under the thumb may have changed in between. The final step is held, not tapped."""

import secrets

import pytest
from playwright.sync_api import expect

from devices import ROME
from rider_page import RiderPage

LOCATED = {"permissions": ["geolocation"], "geolocation": ROME}
APART_MS = 250
DEAD_TIME_MS = 800
UNDO_MS = 10_000
HOLD_MS = 700
# The page's clock may advance by less than this before it stops.
AHEAD_MS = 3_000


@pytest.fixture
def on_the_way(order_system, devices):
    """A rider without a zone, with a delivery that is ready for pickup."""
    person = f"rider-{secrets.token_hex(3)}"
    job = order_system.delivery("accepted", "preparing", "ready_for_pickup", rider=person)
    return RiderPage(order_system, devices, job.rider, job, clock=True, **LOCATED), job


def middle(button) -> tuple[float, float]:
    box = button.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def tap(rider, job) -> None:
    """The current place of the button, whatever its text."""
    rider.page.touchscreen.tap(*middle(rider.next(job)))


def stop_time(rider) -> None:
    """From now on the page's time passes only in `run_for`, so that on a slow machine no pause ends earlier and no button is
    held for longer than the test says."""
    rider.pause_time(AHEAD_MS)


@pytest.mark.lean
def test_D2_a_double_tap_starts_a_delivery_without_completing_it(on_the_way):
    rider, job = on_the_way
    expect(rider.next(job)).to_have_text("Start delivery")
    # This step also starts travel mode, so it is the one to test.
    expect(rider.page.locator("#work .primary:visible")).to_have_text(["Start delivery"])
    stop_time(rider)
    tap(rider, job)
    expect(rider.next(job)).to_have_text("Hold to complete")
    rider.page.clock.run_for(APART_MS)
    tap(rider, job)
    expect(rider.card(job)).not_to_contain_text("Press and hold the button.")
    # After the pause, two more taps only show a hint.
    rider.page.clock.run_for(DEAD_TIME_MS)
    expect(rider.next(job)).to_have_attribute("aria-disabled", "false")
    tap(rider, job)
    expect(rider.card(job)).to_contain_text("Press and hold the button.")
    expect(rider.announcer).to_contain_text("Press and hold the button.")
    rider.page.clock.run_for(APART_MS)
    tap(rider, job)
    rider.page.clock.run_for(UNDO_MS)
    expect(rider.next(job)).to_have_text("Hold to complete")
    assert job.state["status"] == "in_transit"


@pytest.fixture
def at_the_door(on_the_way):
    """The same rider, who has started the delivery, while the page's clock is stopped."""
    rider, job = on_the_way
    tap(rider, job)
    expect(rider.next(job)).to_have_text("Hold to complete")
    rider.page.clock.run_for(DEAD_TIME_MS)
    expect(rider.next(job)).to_have_attribute("aria-disabled", "false")
    stop_time(rider)
    return rider, job


def fingers(rider):
    """Touches of the DevTools protocol: a finger stays in place until it is lifted."""
    session = rider.page.context.new_cdp_session(rider.page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in places]})

    return touch


@pytest.mark.lean
def test_a_delivery_is_completed_by_a_finger_that_stays_and_not_by_one_that_is_lifted(at_the_door):
    rider, job = at_the_door
    touch, button = fingers(rider), rider.next(job)
    # Released too early.
    touch("touchStart", middle(button))
    expect(button).to_have_text("Keep holding…")
    rider.page.clock.run_for(HOLD_MS - 1)
    touch("touchEnd")
    expect(button).to_have_text("Hold to complete")
    expect(rider.card(job)).to_contain_text("Press and hold the button.")
    expect(rider.undo(job)).to_be_hidden()
    # This time the rider means it. The finger is lifted where "Undo" may be now, which changes nothing.
    touch("touchStart", middle(button))
    expect(button).to_have_text("Keep holding…")
    rider.page.clock.run_for(HOLD_MS)
    expect(rider.undo(job)).to_be_visible()
    expect(button).to_have_text("Delivered")
    touch("touchEnd")
    rider.page.clock.run_for(UNDO_MS)
    rider.page.clock.resume()
    expect(rider.card(job)).to_contain_text("Done. Thank you!")
    assert job.state["status"] == "delivered"


@pytest.mark.parametrize("right, down", [(-1, 0), (0, -1)], ids=["sideways", "scrolling"])
def test_a_finger_that_leaves_the_button_or_scrolls_the_page_completes_nothing(at_the_door, right, down):
    rider, job = at_the_door
    touch, button = fingers(rider), rider.next(job)
    x, y = middle(button)
    touch("touchStart", (x, y))
    expect(button).to_have_text("Keep holding…")
    for step in range(1, 6):
        touch("touchMove", (x + right * step * x / 5.2, y + down * step * 15))
    expect(button).to_have_text("Hold to complete")
    rider.page.clock.run_for(HOLD_MS)
    touch("touchEnd")
    expect(rider.undo(job)).to_be_hidden()
    expect(rider.card(job)).not_to_contain_text("Press and hold the button.")


def test_a_mouse_that_leaves_the_button_or_scrolls_cancels_and_one_that_stays_completes(at_the_door):
    rider, job = at_the_door
    rider.press(job)
    expect(rider.next(job)).to_have_text("Keep holding…")
    rider.page.mouse.move(5, 5)
    expect(rider.next(job)).to_have_text("Hold to complete")
    rider.page.mouse.up()
    rider.press(job)
    expect(rider.next(job)).to_have_text("Keep holding…")
    rider.page.mouse.wheel(0, -40 if rider.page.evaluate("scrollY > 0") else 40)
    expect(rider.next(job)).to_have_text("Hold to complete")
    rider.page.clock.run_for(HOLD_MS)
    rider.page.mouse.up()
    expect(rider.undo(job)).to_be_hidden()
    rider.press(job)
    rider.page.clock.run_for(HOLD_MS)
    expect(rider.undo(job)).to_be_visible()
    rider.page.mouse.up()


@pytest.mark.lean
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_without_motion_a_held_button_shows_a_state_instead_of_a_bar(order_system, devices, axe, dark):
    job = order_system.visit("on_the_way", "work_in_progress")
    rider = RiderPage(order_system, devices, job.rider, job, reduced_motion=True, dark=dark, words="lang=de", **LOCATED)
    expect(rider.next(job)).to_have_text("Zum Abschließen halten")
    expect(rider.next(job)).to_have_attribute("aria-disabled", "false")
    bar = "(button) => getComputedStyle(button, '::before').display"
    colour = "(button) => getComputedStyle(button).backgroundColor"
    before = rider.next(job).evaluate(colour)
    # The state lasts too short to be examined.
    rider.next(job).evaluate("(button) => { button.dataset.held = ''; }")
    assert rider.next(job).evaluate(bar) == "none"
    assert rider.next(job).evaluate(colour) != before
    axe(rider.page)
    rider.next(job).evaluate("(button) => { delete button.dataset.held; }")
    rider.next(job).click()
    expect(rider.card(job)).to_contain_text("Halten Sie die Taste gedrückt.")
    axe(rider.page)


@pytest.mark.lean
def test_D2_a_delivery_can_be_completed_by_keyboard(on_the_way, axe):
    rider, job = on_the_way
    rider.next(job).focus()
    # The key is still down when the next step is shown.
    rider.page.keyboard.down("Enter")
    expect(rider.next(job)).to_have_text("Hold to complete")
    expect(rider.next(job)).to_be_focused()
    rider.page.clock.run_for(DEAD_TIME_MS)
    # The gateway has answered the step before; until then the button ignores keys.
    expect(rider.next(job)).to_have_attribute("aria-disabled", "false")
    rider.page.keyboard.down("Enter")
    expect(rider.next(job)).to_have_text("Hold to complete")
    expect(rider.undo(job)).to_be_hidden()
    rider.page.keyboard.up("Enter")
    axe(rider.page)
    rider.page.keyboard.press("Enter")
    expect(rider.undo(job)).to_be_visible()
    axe(rider.page)
    rider.undo(job).focus()
    rider.page.keyboard.press("Enter")
    expect(rider.undo(job)).to_be_hidden()
    expect(rider.next(job)).to_be_focused()
    expect(rider.next(job)).to_have_text("Hold to complete")
    rider.page.clock.run_for(UNDO_MS)
    assert job.state["status"] == "in_transit"
    # This time the rider means it.
    rider.page.keyboard.press("Space")
    expect(rider.undo(job)).to_be_visible()
    rider.page.clock.run_for(UNDO_MS)
    expect(rider.card(job)).to_contain_text("Done. Thank you!")
    assert job.state["status"] == "delivered"
