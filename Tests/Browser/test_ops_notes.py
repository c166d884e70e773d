"""The operations page: notes of operations staff, and what the page keeps of a job."""

import pytest
from playwright.sync_api import expect

from test_ops import look, row, zone  # noqa: F401
from test_ops_desk import action


@pytest.mark.lean
def test_a_note_is_written_shown_undone_and_never_reaches_the_customer(order_system, look, zone, phone, axe):  # noqa: F811
    job = order_system.visit("on_the_way", zone=zone)
    page = look(f"?zone={zone}&job={job.name}")
    action(page, "note").click()
    expect(page.locator("#operations-note")).to_be_focused()
    page.keyboard.type("Gate is locked.")
    expect(page.locator("#operations-note")).to_have_value("Gate is locked.")
    axe(page)
    expect(page.locator("#operations-note")).to_have_value("Gate is locked.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#note-shown")).to_contain_text("Gate is locked.")
    expect(page.locator("#note-shown")).to_contain_text("olga")
    customer = phone(job.guest_url)
    expect(customer.locator("#steps li").first).to_be_visible()
    assert "Gate is locked" not in customer.content()
    page.reload()
    expect(page.locator("#note-shown")).to_contain_text("Gate is locked.")
    action(page, "note").click()
    page.locator("#operations-note").fill("")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#note-shown")).to_have_count(0)
    action(page, "undo").click()
    expect(page.locator("#note-shown")).to_contain_text("Gate is locked.")


@pytest.mark.lean
def test_escape_closes_a_form_and_keeps_its_note_then_closes_the_job(order_system, look, zone):  # noqa: F811
    job, other = order_system.visit("on_the_way", zone=zone), order_system.visit("on_the_way", zone=zone)
    page = look(f"?zone={zone}&job={job.name}")
    note = page.locator("#operations-note")
    action(page, "note").click()
    expect(note).to_be_focused()
    page.keyboard.type("Gate is lo")
    expect(note).to_have_value("Gate is lo")
    page.keyboard.press("Escape")
    expect(note).to_have_count(0)
    expect(page.locator("#job h2")).to_have_text(job.name)
    expect(action(page, "note")).to_be_focused()
    expect(action(page, "note")).to_have_text("Continue note")
    page.keyboard.press("Enter")
    expect(note).to_have_value("Gate is lo")
    expect(note).to_be_focused()
    # Another job has no draft; this one still has its own.
    row(page, other).locator("a").click()
    expect(page.locator("#job h2")).to_have_text(other.name)
    action(page, "note").click()
    expect(note).to_be_focused()
    expect(note).to_have_value("")
    page.keyboard.press("Escape")
    expect(note).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator("#job")).to_be_hidden()
    row(page, job).locator("a").click()
    expect(page.locator("#job h2")).to_have_text(job.name)
    action(page, "note").click()
    expect(note).to_have_value("Gate is lo")
    page.get_by_role("button", name="Discard").click()
    expect(note).to_have_count(0)
    action(page, "note").click()
    expect(note).to_be_focused()
    expect(note).to_have_value("")
    page.keyboard.press("Escape")
    expect(note).to_have_count(0)
    # A question is closed the same way.
    action(page, "cancel").click()
    expect(page.locator("#job .question")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#job .question")).to_have_count(0)
    expect(page.locator("#job h2")).to_have_text(job.name)


@pytest.mark.lean
def test_a_note_that_is_being_written_keeps_its_place_when_the_job_changes(order_system, look, zone):  # noqa: F811
    job = order_system.delivery("accepted", "preparing", zone=zone)
    page = look(f"?zone={zone}&job={job.name}")
    action(page, "note").click()
    expect(page.locator("#operations-note")).to_be_focused()
    page.keyboard.type("code 4711")
    page.keyboard.press("Home")
    job.status("ready_for_pickup")
    expect(page.locator("#job .plainlist li")).to_have_count(4)
    page.keyboard.type("Gate ")
    expect(page.locator("#operations-note")).to_have_value("Gate code 4711")


@pytest.mark.lean
def test_nothing_of_an_erased_job_stays_on_the_desk(order_system, look, zone):  # noqa: F811
    job = order_system.delivery(
        "accepted", zone=zone, recipient={"name": "M. Rossi", "address": "Via Nomentana 3"}, display={"note": "Ring twice."})
    page = look(f"?zone={zone}&job={job.name}")
    expect(page.locator("#job")).to_contain_text("M. Rossi")
    job.status("cancelled")
    order_system.ask("DELETE", f"jobs/{job.name}")
    for text in ("M. Rossi", "Via Nomentana", "Ring twice"):
        expect(page.locator("#job")).not_to_contain_text(text)
