"""The pods of deploy/kubernetes as running processes (pods.py): settings, files, users, probes and the end of a pod."""

import os
import re
import subprocess

import pytest

import bounds
import manifests
import pods

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for network namespaces and mounts")

PRODUCTION_ENV = b"ENROUTE_REDIS_LIVE_URL=redis://enroute:x@10.0.0.5:6379\nENROUTE_REDIS_LEDGER_URL=redis://enroute:x@10.0.0.6:6380\n"


@pytest.fixture(scope="module")
def deploy(tmp_path_factory):
    return manifests.prepared(tmp_path_factory.mktemp("k"))


@pytest.fixture(scope="module")
def cluster(deploy, tmp_path_factory):
    """The development overlay: a gateway and both roles of Redis."""
    made = pods.Cluster(manifests.kustomize(deploy / "kubernetes/overlays/development"), tmp_path_factory.mktemp("p"))
    yield made
    made.close()


def test_every_pod_of_the_development_overlay_passes_its_probes(cluster):
    for name in ("live", "ledger", "enroute"):
        for kind in ("startup", "readiness", "liveness"):
            cluster.pods[name].wait_until(kind, cluster.addresses[name])


def test_the_gateway_serves_pages_and_knows_its_token_keys(cluster, deploy):
    cluster.pods["enroute"].wait_until("readiness", cluster.addresses["enroute"])
    node, address = cluster.node(), cluster.addresses["enroute"]
    key = deploy / "kubernetes/overlays/development/site/token-private.pem"
    token = subprocess.run(
        [str(pods.enroute()), "token", "orders", "--role", "service", "--key", str(key)],
        capture_output=True, text=True, check=True).stdout.strip()
    answer = subprocess.run(
        ["ip", "netns", "exec", node, "curl", "-sS", "--fail-with-body", f"http://{address}:8443/api/v1/jobs",
         "-H", f"Authorization: Bearer {token}", "-d",
         '{"job":"visit-1","kind":"service","customer":"anna","destination":{"lat":41.9,"lon":12.5}}'],
        capture_output=True, text=True)
    assert answer.returncode == 0 and '"visit-1"' in answer.stdout, answer


def test_a_gateway_without_redis_is_alive_and_not_ready(deploy, tmp_path):
    """The kubelet does not restart it, and no client reaches it."""
    objects = manifests.kustomize(deploy / "kubernetes/overlays/development")
    cluster = pods.Cluster(objects, tmp_path / "p", only=["enroute"])
    try:
        pod, address = cluster.pods["enroute"], cluster.addresses["enroute"]
        pod.wait_until("liveness", address)
        assert not pod.passes("readiness", address)
    finally:
        cluster.close()


def test_a_deleted_pod_ends_within_its_grace_period_with_exit_code_0(cluster):
    pod = cluster.pods["enroute"]
    pod.wait_until("readiness", cluster.addresses["enroute"])
    code, took = pod.stop()
    print(f"the pod ended after {took:.1f} s of {pod.spec['terminationGracePeriodSeconds']} s")
    assert code == 0


def test_the_production_pod_accepts_its_settings_and_files(deploy, tmp_path):
    """`enroute config` in the production pod, with Secrets as README.md creates them, finds nothing wrong."""
    key, chain = tmp_path / "key", tmp_path / "chain"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tracking.example",
         "-keyout", str(key), "-out", str(chain)], check=True, capture_output=True)
    extra = {"enroute-gateway": {"gateway.env": PRODUCTION_ENV},
             "enroute-tls": {"tls.crt": chain.read_bytes(), "tls.key": key.read_bytes()},
             "enroute-ticket-keys": {"current": os.urandom(80), "previous": os.urandom(80)}}
    objects = manifests.kustomize(deploy / "kubernetes/overlays/production")
    cluster = pods.Cluster(
        objects, tmp_path / "p", extra=extra, arguments=["config", "--config", "/etc/enroute/gateway/gateway.env"])
    try:
        process = cluster.pods["enroute"].running.process
        assert process.child.wait(bounds.START_SECONDS) == 0, process.tail()
        assert re.search(r"ENROUTE_LISTEN_PROXY_PROTOCOL\s+required", process.log.read_text())
    finally:
        cluster.close()
