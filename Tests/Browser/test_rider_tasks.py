"""Which tasks the rider's page shows, in which order, and how it names them."""

import re
import secrets
import time

import pytest
from playwright.sync_api import expect

from devices import ROME
from rider_page import RiderPage, go_online

LOCATED = {"permissions": ["geolocation"], "geolocation": ROME}
HOUR_MS = 3_600_000
MOST_CARDS = 10


@pytest.fixture
def online(order_system, devices):
    """online(…): the id of a rider in a zone of their own who is online; and their page."""

    def approve(capacity: int = 3) -> str:
        person = f"rider-{secrets.token_hex(3)}"
        order_system.approve(person, f"zone-{secrets.token_hex(3)}", capacity=capacity)
        go_online(order_system, person)
        return person

    approve.page = lambda person: RiderPage(order_system, devices, person, **LOCATED)
    return approve


def promised(hours: float) -> dict:
    start = int(time.time() * 1_000 + hours * HOUR_MS)
    return {"window": {"from": start, "until": start + HOUR_MS}}


def test_an_order_that_is_corrected_continues_from_its_status(online, order_system):
    person = online()
    job = order_system.delivery("accepted", "preparing", "ready_for_pickup", rider=person)
    rider = online.page(person)
    for step, after in (("Arrived at store", "Picked up"), ("Picked up", "Start delivery")):
        rider.next(job).filter(has_text=step).click()
        expect(rider.next(job)).to_have_text(after)
        expect(rider.next(job)).to_have_attribute("aria-disabled", "false")
    order_system.ask("POST", f"jobs/{job.name}/corrections", {"status": "ready_for_pickup", "reason": "Not picked up."})
    expect(rider.next(job)).to_have_text("Arrived at store")


@pytest.mark.lean
def test_visits_come_in_the_order_of_their_times_and_only_the_next_one_is_emphasized(online, order_system):
    person = online()
    tomorrow = order_system.visit(rider=person, display=promised(24))
    rider = online.page(person)
    expect(rider.next(tomorrow)).to_have_text("Set off")
    expect(rider.next(tomorrow)).not_to_have_class("next primary")
    soon = order_system.visit(rider=person, display=promised(1))
    now = order_system.visit(rider=person, display=promised(0))
    expect(rider.next(now)).to_have_class("next primary")
    for other in (soon, tomorrow):
        expect(rider.next(other)).not_to_have_class("next primary")
    cards = rider.page.locator("#jobs > li")
    expect(cards).to_have_count(3)
    assert [card.get_attribute("data-job") for card in cards.all()] == [now.name, soon.name, tomorrow.name]


def test_a_task_that_does_not_fit_is_counted_and_announced_and_comes_when_there_is_room(online, order_system):
    person = online(capacity=MOST_CARDS + 2)
    jobs = [order_system.delivery("accepted", rider=person) for _ in range(MOST_CARDS)]
    rider = online.page(person)
    more = rider.page.locator("#more-tasks")
    expect(rider.page.locator("#jobs > li")).to_have_count(MOST_CARDS)
    expect(more).to_be_hidden()
    jobs.append(order_system.delivery("accepted", rider=person, display={"orderNumber": "A-11"}))
    expect(more).to_have_text("1 more task. Finish one to see more.")
    expect(rider.announcer).to_contain_text("1 more task.")
    rider.switch.click()
    expect(rider.message).to_have_text(re.compile(r"Finish or return first: .*, 1 more task\. Finish one to see more\.$"))
    assert jobs[-1].name not in rider.message.inner_text()
    jobs[0].status("cancelled")
    expect(rider.announcer).to_contain_text("New task: A-11.")
    expect(rider.card(jobs[-1])).to_be_visible()
    expect(more).to_be_hidden()


def test_tasks_that_have_begun_have_a_card_even_if_there_are_too_many(online, order_system):
    person = online(capacity=MOST_CARDS + 1)
    jobs = [order_system.delivery("accepted", rider=person) for _ in range(MOST_CARDS + 1)]
    # The gateway sends the tasks in the order of their ids.
    last = max(jobs, key=lambda job: job.name)
    order_system.ask("POST", f"jobs/{last.name}/task", {"state": "arrived_at_store"}, bearer=order_system.token("rider", person))
    rider = online.page(person)
    expect(rider.page.locator("#jobs > li")).to_have_count(MOST_CARDS)
    expect(rider.next(last)).to_have_text("Picked up")


@pytest.mark.lean
def test_a_rider_reads_order_numbers_not_ids(online, order_system):
    person = online()
    rider = online.page(person)
    expect(rider.page.locator("#no-tasks")).to_be_visible()
    job = order_system.delivery("accepted", rider=person, display={"orderNumber": "A-7"})
    expect(rider.announcer).to_contain_text("New task: A-7.")
    expect(rider.card(job)).to_contain_text("Delivery A-7")
    rider.switch.click()
    expect(rider.message).to_contain_text("Finish or return first: A-7")
    rider.message.get_by_role("link", name="A-7").click()
    expect(rider.card(job).locator("h3")).to_be_focused()
    job.assign("somebody-else", instead_of=person)
    expect(rider.card(job)).to_contain_text("This task was given to another rider.")
    expect(rider.card(job).locator("h3")).to_have_text("Delivery A-7")
    assert job.name not in rider.page.locator("body").inner_text()


def test_a_rider_whose_session_expires_reads_so_where_they_are(online, order_system):
    person = online(capacity=6)
    jobs = [order_system.delivery("accepted", rider=person) for _ in range(6)]
    rider = online.page(person)
    expect(rider.card(jobs[-1])).to_be_visible()
    rider.card(jobs[-1]).scroll_into_view_if_needed()
    order_system.revoke("users", person)
    banner = rider.page.locator("#offline")
    expect(banner).to_have_text("Your session has expired. Sign in again to continue.")
    expect(banner).to_be_in_viewport()
    expect(rider.announcer).to_contain_text("Your session has expired.")
    expect(rider.page).to_have_title("Your session has expired. Sign in again to continue.")
    rider.next(jobs[-1]).click()
    expect(rider.card(jobs[-1])).to_contain_text("Your session has expired. Sign in again to continue.")
