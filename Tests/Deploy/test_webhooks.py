"""Webhooks end to end: real gateways, a real HTTPS endpoint, and signatures that a library of the specification verifies.

ENROUTE_WEBHOOK_CHANGES is the number of status changes while gateways are killed: `make test-long LONG=webhooks` makes
100,000."""

import http.client
import json
import os
import random
import subprocess
import threading
import time
from collections import defaultdict

import pytest

import bounds
from order_system import OrderSystem, Refused
from stage import Site, enroute
from waiting import until
from webhook_receiver import Receiver

CHANGES = int(os.environ.get("ENROUTE_WEBHOOK_CHANGES", "3000"))
JOBS_AT_ONCE = 8
CHANGES_PER_JOB = 20
KILL_EVERY_SECONDS = 3.0
# A gateway waits 0.25 s for the endpoint to close TLS, too.
CLOSED_WITHIN_SECONDS = 3.0
# From the last change until everything is delivered.
DELIVERY_SECONDS = 120 + CHANGES / 100


@pytest.fixture
def site_with_receiver(make_site, tmp_path):
    receivers: list[Receiver] = []

    def make(**settings) -> tuple[Site, OrderSystem, Receiver]:
        folder = tmp_path / "receiver"
        folder.mkdir()
        certificate, key = folder / "certificate.pem", folder / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
             "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
             str(key), "-out", str(certificate)], check=True, capture_output=True)
        receivers.append(Receiver(certificate, key))
        site = make_site(**({
            "WEBHOOK_CA_FILE": certificate, "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
            "WEBHOOK_RETRY_SECONDS": "1,1,1,2,2,3,3,5,5,5"} | settings))
        return site, OrderSystem(site), receivers[0]

    yield make
    for receiver in receivers:
        receiver.close()


def add(orders: OrderSystem, receiver: Receiver, path: str, **members) -> dict:
    webhook = orders.ask("POST", "webhooks", {"url": receiver.url(path)} | members)
    receiver.secrets[path].append(webhook["secret"])
    return webhook


def command(site: Site, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(enroute()), "webhooks", *words], capture_output=True, text=True, timeout=bounds.ANSWER_SECONDS,
        env=site.environment())


def versions_in_redis(site: Site, jobs) -> dict[str, int]:
    return {job: int(site.redis_says("HGET", f"job:{{{job}}}", "version") or 0) for job in jobs}


def check_complete(events, versions: dict[str, int]) -> int:
    """Every event at least once, the first occurrences of each job in order, ids stable. Returns the number of repeats."""
    first: dict[str, list[int]] = defaultdict(list)
    ids: dict[tuple[str, int], str] = {}
    repeats = 0
    for event in events:
        key = (event.subject, event.version)
        if key in ids:
            assert ids[key] == event.id, f"{key} has two ids"
            repeats += 1
            continue
        ids[key] = event.id
        first[event.subject].append(event.version)
    for job, version in versions.items():
        assert first[job] == list(range(1, version + 1)), f"{job}: {first[job]}"
    assert len(set(ids.values())) == len(ids)
    return repeats


class Changes:
    """Threads that change jobs through whichever gateway answers."""

    def __init__(self, site: Site, orders: OrderSystem, count: int):
        self.site, self.orders, self.left = site, orders, count
        self.jobs: list[str] = []
        self.failures: list[Exception] = []
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(JOBS_AT_ONCE)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    @property
    def is_running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def _take(self) -> tuple[str, int] | None:
        """A new job, and how often its status is to change."""
        with self._lock:
            taken = min(self.left, CHANGES_PER_JOB)
            self.left -= taken
            if not taken:
                return None
            self.jobs.append(f"job-{len(self.jobs)}")
            return self.jobs[-1], taken

    def _run(self) -> None:
        try:
            while task := self._take():
                job, taken = task
                self._ask("POST", "jobs", {"job": job, "kind": "delivery", "customer": "anna", "zone": "rome"})
                self._ask("POST", f"jobs/{job}/status", {"status": "accepted"})
                for number in range(taken - 1):
                    status = "preparing" if number % 2 == 0 else "allocation_failed"
                    self._ask("POST", f"jobs/{job}/status", {"status": status})
        except Exception as error:
            self.failures.append(error)

    def _ask(self, method: str, path: str, body: dict) -> None:
        """Repeats the request, under one key, until a gateway answers."""
        key = f"{random.getrandbits(128):032x}"
        while True:
            gateway = random.choice(self.site.gateways)
            connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=bounds.ANSWER_SECONDS)
            try:
                connection.request(method, f"/api/v1/{path}", body=json.dumps(body), headers={
                    "Authorization": f"Bearer {self.orders.bearer}", "Content-Type": "application/json",
                    "Idempotency-Key": key})
                answer = connection.getresponse()
                text = answer.read()
            except (OSError, http.client.HTTPException):
                time.sleep(bounds.POLL_SECONDS)
                continue
            finally:
                connection.close()
            if answer.status in (200, 201):
                return
            # 409 request_in_progress: the gateway that had the request was killed.
            if answer.status in (503, 429) or b"request_in_progress" in text:
                time.sleep(bounds.POLL_SECONDS)
                continue
            raise AssertionError(f"{method} {path}: {answer.status} {text!r}")


def test_gateways_are_killed_and_every_event_is_delivered_in_order(site_with_receiver):
    site, orders, receiver = site_with_receiver(gateways=3)
    for path in ("/good", "/flaky"):
        add(orders, receiver, path)
    changes = Changes(site, orders, CHANGES)
    kills = 0
    while changes.is_running:
        time.sleep(KILL_EVERY_SECONDS * random.uniform(0.5, 1.5))
        victim = random.choice(site.gateways)
        victim.process.kill()
        kills += 1
        victim.start()
    changes.join()
    assert not changes.failures
    versions = versions_in_redis(site, changes.jobs)
    total = sum(versions.values())
    assert total >= CHANGES
    started = time.monotonic()

    def left() -> int:
        return sum(
            total - len({(event.subject, event.version) for event in receiver.events(path)})
            for path in ("/good", "/flaky"))

    # A last kill, while events still wait.
    site.gateways[0].process.kill()
    site.gateways[0].start()
    until(lambda: left() == 0, lambda: f"{left()} of {total} events", DELIVERY_SECONDS, every=0.5)
    for path in ("/good", "/flaky"):
        repeats = check_complete(receiver.events(path), versions)
        print(f"{path}: {total} events, {repeats} repeats, {kills + 1} kills, "
              f"{receiver.attempts[path]} attempts, {time.monotonic() - started:.1f} s after the last change")
    assert not receiver.forged


def test_bad_endpoints_do_not_affect_a_good_one(site_with_receiver):
    site, orders, receiver = site_with_receiver(gateways=1)
    bad = ["/slow", "/broken", "/failing", "/redirect", "/huge", "/gone"]
    ids = {path: add(orders, receiver, path)["id"] for path in [*bad, "/good"]}
    visit = orders.visit("on_the_way", "work_in_progress", "completed")
    until(lambda: len(receiver.events("/good")) == 5, "the events at the good endpoint")
    check_complete(receiver.events("/good"), {visit.name: 5})
    # An endless response counts as accepted, and the gateway closes its connection soon.
    until(lambda: len(receiver.events("/huge")) == 5, "the events at the endpoint with endless answers")
    until(lambda: len(receiver.huge_seconds) == 5, "the end of the endless answers")
    assert max(receiver.huge_seconds) < CLOSED_WITHIN_SECONDS, receiver.huge_seconds
    # 410 switches the webhook off.
    until(lambda: orders.ask("GET", f"webhooks/{ids['/gone']}")["state"] == "off", "the webhook that is gone")
    assert "410" in orders.ask("GET", f"webhooks/{ids['/gone']}")["offReason"]
    for path in ("/broken", "/failing", "/redirect"):
        until(lambda path=path: receiver.attempts[path] >= 2, f"another attempt at {path}")
        state = orders.ask("GET", f"webhooks/{ids[path]}")
        assert state["failingSince"] and state["lastError"] and state["waiting"] == 5, state
    until(lambda: orders.ask("GET", f"webhooks/{ids['/slow']}").get("lastError"), "the end of the slow attempt")
    assert "15 s" in orders.ask("GET", f"webhooks/{ids['/slow']}")["lastError"]
    assert "redirect" in orders.ask("GET", f"webhooks/{ids['/redirect']}")["lastError"]
    assert receiver.attempts["/internal"] == 0
    assert not receiver.forged


def test_events_that_are_given_up_can_be_listed_and_delivered_again(site_with_receiver):
    site, orders, receiver = site_with_receiver(gateways=1, WEBHOOK_RETRY_SECONDS="1,1")
    webhook = add(orders, receiver, "/failing", types=["enroute.job.status.changed"])
    visit = orders.visit("on_the_way", "work_in_progress")

    def undelivered() -> list[dict]:
        return orders.ask("GET", f"webhooks/{webhook['id']}/undelivered")["events"]

    until(lambda: len(undelivered()) == 2, "two undelivered events")
    assert [json.loads(event["body"])["version"] for event in undelivered()] == ["2", "3"]
    assert all(event["attempts"] == 3 and event["reason"] == "status 500" for event in undelivered())
    receiver.behaviour["/failing"] = "good"
    listed = command(site, "undelivered", webhook["id"], "--json")
    assert len(json.loads(listed.stdout)["events"]) == 2, listed
    done = command(site, "replay", webhook["id"], "--json")
    assert json.loads(done.stdout) == {"replayed": 2, "undelivered": 0}, done
    until(lambda: len(receiver.events("/failing")) == 2, "both events")
    assert [event.version for event in receiver.events("/failing")] == [2, 3]
    assert {event.subject for event in receiver.events("/failing")} == {visit.name}
    assert undelivered() == []


def test_an_endpoint_that_fails_too_long_is_switched_off_and_a_test_switches_it_on(site_with_receiver):
    site, orders, receiver = site_with_receiver(
        # Two minutes without a request would end the disruption; restarting the gateway does not take that long.
        gateways=1, WEBHOOK_OFF_AFTER_SECONDS=600, WEBHOOK_RETRY_SECONDS="1", LOG_LEVEL="notice")
    webhook = add(orders, receiver, "/failing")
    orders.visit("on_the_way")
    until(lambda: orders.ask("GET", f"webhooks/{webhook['id']}").get("failingSince"), "the first failure")
    # As if it had failed for an hour: the next gateway reads this when it starts.
    site.gateways[0].process.kill()
    site.redis_says("HSET", f"webhook:{{{webhook['id']}}}", "failing_since", str(int(time.time() - 3600) * 1000))
    site.redis_says("DEL", f"webhook:{{{webhook['id']}}}:lease")
    site.gateways[0].start()
    orders.visit("on_the_way")
    until(lambda: orders.ask("GET", f"webhooks/{webhook['id']}")["state"] == "off", "the end of the webhook")
    assert "webhook switched off" in site.gateways[0].log
    refused = command(site, "test", webhook["id"])
    assert refused.returncode == 1 and "status 500" in refused.stdout
    receiver.behaviour["/failing"] = "good"
    assert command(site, "test", webhook["id"]).returncode == 0
    assert orders.ask("GET", f"webhooks/{webhook['id']}")["state"] == "on"
    until(lambda: receiver.events("/failing"), "the events")


def test_after_a_repair_a_successful_test_delivers_what_waits_at_once(site_with_receiver):
    site, orders, receiver = site_with_receiver(gateways=1, WEBHOOK_RETRY_SECONDS="1,86400")
    webhook = add(orders, receiver, "/failing")
    visit = orders.visit("on_the_way", "work_in_progress")
    versions = versions_in_redis(site, [visit.name])
    until(lambda: orders.ask("GET", f"webhooks/{webhook['id']}")["waiting"] == versions[visit.name], "the events")
    due, later = f"webhook:{{{webhook['id']}}}:due", str(int(time.time() + 3600) * 1000)
    until(lambda: site.redis_says("ZCOUNT", due, later, "+inf") == "1", "a second failure; the next attempt is far off")
    receiver.behaviour["/failing"] = "good"
    assert command(site, "test", webhook["id"]).returncode == 0
    until(lambda: len(receiver.events("/failing")) == versions[visit.name], "the delivery of all of them")
    check_complete(receiver.events("/failing"), versions)


def test_both_secrets_sign_after_a_rotation(site_with_receiver):
    site, orders, receiver = site_with_receiver(gateways=1)
    added = command(site, "add", receiver.url("/good"), "--json")
    webhook = json.loads(added.stdout)
    receiver.secrets["/good"].append(webhook["secret"])
    rotated = json.loads(command(site, "rotate", webhook["id"], "--json").stdout)
    assert rotated["secret"] != webhook["secret"]

    def visit():
        count = len(receiver.events("/good")) + 2
        orders.visit("on_the_way")
        until(lambda: len(receiver.events("/good")) == count, "the events")
        return receiver.signatures["/good"]

    # For the first second the old secret may sign alone.
    until(lambda: visit() == 2, "requests with two signatures")
    # The receiver verifies each request with every secret that it knows.
    receiver.secrets["/good"].append(rotated["secret"])
    visit()
    assert not receiver.forged
    assert json.loads(command(site, "list", "--json").stdout)["webhooks"][0]["state"] == "on"
    assert command(site, "remove", webhook["id"]).returncode == 0
    assert command(site, "remove", webhook["id"]).returncode == 1
    assert site.redis_says("--scan", "--pattern", "webhook:*:[dw]*") == ""


@pytest.mark.parametrize("host", [
    "127.0.0.1", "localhost", "2130706433", "127.1", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "169.254.169.254",
    "[::ffff:169.254.169.254]", "10.0.0.1", "192.168.1.1", "[fd00:ec2::254]", "[fe80::1]", "0.0.0.0",
])
def test_internal_endpoints_are_refused(shared_site, host):
    with pytest.raises(Refused) as refused:
        OrderSystem(shared_site).ask("POST", "webhooks", {"url": f"https://{host}/hooks"})
    assert refused.value.status == 422
    assert "not public" in refused.value.problem["detail"]


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("site") / "s")
    yield site
    site.close()
