"""deploy/container/compose.yaml as a running site: its services in containers without an engine (compose.py), with real
networks, users, read-only roots and health checks."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
import yaml

import compose
import images
from stage import enroute

NAME = "tracking.example"
CLIENT = f"https://{NAME}:8443"
TRIP = "unix_ms,lat,lon\n" + "".join(f"{second * 1000},41.{8800 + 2 * second},12.5\n" for second in range(1, 6))

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for network namespaces and mounts")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of deploy/, prepared as the guide says."""
    deploy = tmp_path_factory.mktemp("c") / "deploy"
    shutil.copytree(images.TOP / "deploy", deploy, ignore=shutil.ignore_patterns("site", ".env"))
    subprocess.run([str(deploy / "container/prepare"), NAME], check=True)
    return deploy / "container"


@pytest.fixture(scope="module")
def site(folder, tmp_path_factory):
    """All services but Grafana, which Debian does not have. HAProxy has fewer connections, because this machine may allow
    fewer open files than an engine would."""
    made = compose.ComposeSite(
        folder, tmp_path_factory.mktemp("s"), without=["grafana"], haproxy={"BALANCER_MAXCONN": "500"})
    yield made
    made.close()


@pytest.fixture(scope="module")
def machine(site, folder):
    """machine("client"): a machine with `enroute`, curl and the private key of the site."""
    made = []

    def start(name: str):
        made.append(site.client(name, {NAME: site.services["haproxy"].addresses["front"]}, [
            (enroute(), "/usr/local/bin/enroute", False), (folder / "site", "/site", False)]))
        return made[-1]

    yield start
    for running in made:
        running.end()


@pytest.fixture(scope="module")
def client(machine):
    return machine("client")


@pytest.fixture(scope="module")
def other(machine):
    return machine("other")


def ask(client, method: str, path: str, role: str, person: str, body: dict | None = None) -> dict:
    """A REST request through HAProxy; the certificate is verified."""
    command = (f"token=$(enroute token {person} --role {role} --key /site/token-private.pem) && "
               f"curl -sS --fail-with-body --cacert /site/tls-chain.pem -X {method} "
               f"-H \"Authorization: Bearer $token\" {CLIENT}/api/v1/{path}")
    if body is not None:
        command += f" -d '{json.dumps(body)}'"
    done = client.execute(["bash", "-c", command])
    assert done.returncode == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout or "{}")


def test_every_service_becomes_healthy_by_its_own_health_check(site):
    for service in site.services.values():
        service.wait_until_healthy()
    assert set(site.services) == {"live", "ledger", "gateway-1", "gateway-2", "haproxy", "prometheus"}


def test_the_gateways_find_no_error_in_the_installation(site):
    """`docker compose exec gateway-1 enroute check`, as the guide says. Three warnings: Redis does not use TLS, because nothing
    but the gateways is in its network, and the ledger has no replica."""
    done = site.services["gateway-1"].running.execute(
        ["enroute", "check", "--config", "/run/secrets/gateway.env", "--format", "json"])
    report = json.loads(done.stdout)
    assert report["errors"] == 0, report
    warnings = [finding["subject"] for finding in report["findings"] if finding["severity"] == "warning"]
    assert sorted(warnings) == ["encryption", "encryption", "replicas"]


def test_a_trip_reaches_its_customer_through_haproxy(site, client):
    site.services["haproxy"].wait_until_healthy()
    ask(client, "POST", "jobs", "service", "orders", {
        "job": "visit-1", "kind": "service", "customer": "anna", "rider": "rider-7",
        "destination": {"lat": 41.9, "lon": 12.5}})
    ask(client, "POST", "jobs/visit-1/status", "service", "orders", {"status": "on_the_way"})
    command = (f"cat > trip.csv && enroute token rider-7 --role rider --key /site/token-private.pem > rider.token && "
               f"enroute replay trip.csv --job visit-1 --rider rider-7 --token-file rider.token "
               f"--url wss://{NAME}:8443 --authorities /site/tls-chain.pem")
    done = client.execute(["bash", "-c", f"cd /tmp && printf '{TRIP.encode('unicode_escape').decode()}' | ( {command} )"])
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "accepted" in done.stdout + done.stderr
    position = ask(client, "GET", "jobs/visit-1", "customer", "anna")["position"]
    assert position and position["lat"] > 41.88


def test_clients_behind_haproxy_have_limits_of_their_own(site, client, other):
    """The gateways trust the address that HAProxy names. Otherwise one client could use up the limit of all."""
    def statuses(machine) -> set[str]:
        command = (f"curl -sS -o /dev/null -w '%{{http_code}} ' --cacert /site/tls-chain.pem "
                   f"-H 'Authorization: Bearer x' '{CLIENT}/api/v1/jobs/visit-[1-80]'")
        return set(machine.execute(["bash", "-c", command]).stdout.split())

    assert statuses(client) == {"401", "429"}
    first = other.execute([
        "curl", "-sS", "-w", "%{http_code}", "-o", "/dev/null", "--cacert", "/site/tls-chain.pem",
        "-H", "Authorization: Bearer x", f"{CLIENT}/api/v1/jobs/visit-1"])
    assert first.stdout == "401"


def test_containers_have_no_privileges_and_cannot_write(site):
    for service in site.services.values():
        status = dict(line.split(":\t", 1) for line in
                      open(f"/proc/{service.running.pid}/status").read().splitlines() if ":\t" in line)
        user = service.description["user"].split(":")[0]
        assert status["Uid"].split() == [user] * 4, service.name
        assert status["NoNewPrivs"] == "1" and int(status["CapEff"], 16) == 0, service.name
        for place in ("/", "/etc", "/tmp", "/run", "/usr/local/bin"):
            assert service.running.execute(["touch", f"{place}/x"]).returncode != 0, (service.name, place)


def test_secrets_are_readable_for_their_service_only(site):
    assert site.services["gateway-1"].running.execute(["cat", "/run/secrets/gateway.env"]).returncode == 0
    for name in ("live", "haproxy", "prometheus"):
        listed = site.services[name].running.execute(["ls", "/run/secrets"]).stdout.split()
        assert "gateway.env" not in listed and "token-private.pem" not in listed, name


def test_redis_cannot_be_used_without_a_password(site, client):
    for role in ("live", "ledger"):
        address = site.services[role].addresses["redis"]
        done = client.execute(["redis-cli", "-h", address, "set", "a", "b"])
        assert "NOAUTH" in done.stdout + done.stderr, done


def test_prometheus_reads_every_target_and_the_rules(site, client):
    address = site.services["prometheus"].addresses["monitoring"]

    def query(path: str) -> dict:
        done = client.execute(["curl", "-sS", f"http://{address}:9090/api/v1/{path}"])
        return json.loads(done.stdout)["data"] if done.returncode == 0 else {}

    def up() -> bool:
        return {entry["metric"]["instance"] for entry in query("query?query=up==1").get("result", [])} == {
            "gateway-1:9464", "gateway-2:9464", "haproxy:8404"}

    assert site.services["prometheus"].running.process.wait_until(up, "its first scrape of every target")
    assert [rule for group in query("rules")["groups"] for rule in group["rules"]]


def test_the_queries_of_the_prometheus_adapter_have_a_value_for_each_gateway(site, client):
    """Those of deploy/kubernetes/prometheus-adapter.yaml, for the autoscaler, with `instance` in place of the pod."""
    address = site.services["prometheus"].addresses["monitoring"]
    rules = yaml.safe_load((images.TOP / "deploy/kubernetes/prometheus-adapter.yaml").read_text())["rules"]
    for rule in rules:
        name = re.match(r"\w+", rule["seriesQuery"])[0]
        query = rule["metricsQuery"].replace("<<.Series>>", name).replace(
            "<<.LabelMatchers>>", 'job="enroute"').replace("<<.GroupBy>>", "instance")

        def instances() -> bool:
            done = client.execute(
                ["curl", "-sS", "-G", f"http://{address}:9090/api/v1/query", "--data-urlencode", f"query={query}"])
            result = json.loads(done.stdout)["data"]["result"] if done.returncode == 0 else []
            return {entry["metric"]["instance"] for entry in result} == {"gateway-1:9464", "gateway-2:9464"}

        site.services["prometheus"].running.process.wait_until(instances, f"a value of {query}")


def test_a_new_certificate_is_read_without_disconnecting_anybody(site, client, folder):
    """The commands of the guide. HAProxy's user reads the file by its group, which the guide's `cat` keeps."""
    commands = re.search(r"  ```text\n  (cat new-chain.*?)\n  docker compose kill --signal USR2 haproxy\n",
                         (folder / "README.md").read_text(), re.DOTALL)[1]
    stream = (f"token=$(enroute token orders --role service --key /site/token-private.pem); (curl -sSN --cacert /site/tls-chain.pem "
              f"-H \"Authorization: Bearer $token\" {CLIENT}/api/v1/jobs/visit-1/events > /tmp/stream; touch /tmp/closed) &")
    client.execute(["bash", "-c", f"exec > /dev/null 2>&1; {stream}"])
    client.wait_until_succeeds(["grep", "-q", "on_the_way", "/tmp/stream"])
    old = folder / "site/haproxy.pem"
    before = (old.read_text(), (folder / "site/tls-chain.pem").read_text())
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
                    "-subj", "/CN=renewed", "-keyout", folder / "new-key.pem", "-out", folder / "new-chain.pem"],
                   check=True, capture_output=True)
    haproxy = site.services["haproxy"].running
    shows = ["bash", "-c", f"openssl s_client -connect {NAME}:8443 < /dev/null 2> /dev/null | openssl x509 -noout -subject "
             "| grep -q renewed"]
    try:
        subprocess.run(["bash", "-euc", f"umask 077; {commands}"], cwd=folder, check=True)
        os.kill(haproxy.pid, signal.SIGUSR2)
        client.wait_until_succeeds(shows)
        assert client.execute(["test", "-e", "/tmp/closed"]).returncode == 1, "the stream was closed"
    finally:
        old.write_text(before[0])
        os.kill(haproxy.pid, signal.SIGUSR2)
        client.wait_until_succeeds(["bash", "-c", f"! {shows[2]}"])
        client.execute(["pkill", "curl"])


def test_a_gateway_stops_within_its_grace_period_and_no_request_fails_meanwhile(site, client):
    """`docker compose restart gateway-2`, with clients."""
    gateway = site.services["gateway-2"]
    loop = (f"while [ ! -e /tmp/done ]; do curl -sS --fail -o /dev/null --cacert /site/tls-chain.pem "
            f"{CLIENT}/openapi.json || echo failed >> /tmp/failures; done")
    client.execute(["bash", "-c", f"rm -f /tmp/failures /tmp/done; ({loop}) > /dev/null 2>&1 &"])
    begin = time.monotonic()
    code = gateway.stop()
    print(f"gateway-2 stopped after {time.monotonic() - begin:.1f} s")
    client.execute(["touch", "/tmp/done"])
    assert code == 0
    assert client.execute(["cat", "/tmp/failures"]).returncode != 0
    assert ask(client, "GET", "jobs/visit-1", "customer", "anna")["job"] == "visit-1"
