"""The manifests of deploy/kubernetes: rendered with `kubectl kustomize`, checked against the schemas of the Kubernetes API,
and against what Enroute needs. test_kubernetes_pods.py runs the pods."""

import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml

import images
import manifests
from moving import GIVE_UP_AFTER
from stage import enroute

FOLDER = images.TOP / "deploy/kubernetes"
OVERLAYS = ("development", "production", "ingress")
RESERVE_SECONDS = 5


@pytest.fixture(scope="module")
def overlays(tmp_path_factory) -> dict[str, list[dict]]:
    """The objects of each overlay. `ingress` is the production overlay with its other component, as its comment says."""
    deploy = manifests.prepared(tmp_path_factory.mktemp("k"))
    folder = deploy / "kubernetes/overlays"
    shutil.copytree(folder / "production", folder / "ingress")
    path = folder / "ingress/kustomization.yaml"
    text = path.read_text()
    assert "  - ../../components/passthrough\n" in text
    path.write_text(text.replace("  - ../../components/passthrough\n", "  - ../../components/ingress\n"))
    settings = folder / "ingress/settings.env"
    settings.write_text(re.sub(
        "ENROUTE_LISTEN_PROXY_PROTOCOL_FROM=.*", "ENROUTE_LISTEN_TRUSTED_PROXIES=10.1.0.0/16", settings.read_text()))
    return {name: manifests.kustomize(folder / name) for name in OVERLAYS}


@pytest.fixture(scope="module", params=OVERLAYS)
def objects(request, overlays) -> list[dict]:
    return overlays[request.param]


@pytest.fixture(scope="module")
def defaults() -> dict[str, str]:
    """The settings of the gateway with their defaults."""
    text = subprocess.run([str(enroute()), "config", "--example"], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^#(ENROUTE_\w+)=(.*)$", text, re.MULTILINE))


def of_kind(objects: list[dict], kind: str) -> list[dict]:
    return [made for made in objects if made["kind"] == kind]


def gateway(objects: list[dict]) -> dict:
    """The gateway's pod."""
    return manifests.named(objects, "Deployment", "enroute")["spec"]["template"]["spec"]


def matches(selector: dict, labels: dict) -> bool:
    """Whether a label selector matches; an empty one matches everything."""
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        expression["operator"] == "In" and labels.get(expression["key"]) in expression["values"]
        for expression in selector.get("matchExpressions", []))


def labels(workload: dict) -> dict:
    return workload["spec"]["template"]["metadata"]["labels"]


@pytest.mark.parametrize("version", manifests.VERSIONS)
def test_every_object_follows_the_schema_of_the_api(objects, version):
    """Strictly: an unknown field is an error."""
    assert manifests.validate(objects, version) > 8


def test_a_misspelled_field_is_refused(objects):
    """The previous test can fail."""
    broken = yaml.safe_load(yaml.safe_dump(manifests.named(objects, "Deployment", "enroute")))
    broken["spec"]["template"]["spec"]["terminationGraceSeconds"] = 5
    with pytest.raises(kubernetes_validate.ValidationError):
        manifests.validate([broken], manifests.VERSIONS[-1])


def test_pods_meet_the_restricted_profile_of_pod_security(objects):
    for workload in manifests.workloads(objects):
        pod, name = workload["spec"]["template"]["spec"], workload["metadata"]["name"]
        security = pod["securityContext"]
        assert security["runAsNonRoot"] is True and security["runAsUser"] > 0, name
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod), name
        assert all(set(volume) & {"secret", "configMap"} for volume in pod["volumes"]), name
        for container in pod["containers"]:
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False, name
            assert security["capabilities"] == {"drop": ["ALL"]}, name
            assert security["readOnlyRootFilesystem"] is True, name
    namespace, = of_kind(objects, "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_pods_have_no_access_to_the_api_and_no_variables_of_services(objects):
    for workload in manifests.workloads(objects):
        pod = workload["spec"]["template"]["spec"]
        assert pod["automountServiceAccountToken"] is False and pod["enableServiceLinks"] is False


def test_containers_have_probes_limits_and_a_version(objects):
    for workload in manifests.workloads(objects):
        for container in workload["spec"]["template"]["spec"]["containers"]:
            assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)
            assert set(container["resources"]["limits"]) == set(container["resources"]["requests"]) == {"cpu", "memory"}
            assert re.search(r":[^:/]*\d[^:/]*$", container["image"]), container["image"]


def test_only_readiness_depends_on_what_a_gateway_needs(objects):
    """A gateway that waits for Redis must not be restarted."""
    container, = gateway(objects)["containers"]
    assert container["livenessProbe"]["httpGet"]["path"] == container["startupProbe"]["httpGet"]["path"] == "/livez"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert all(container[f"{kind}Probe"]["httpGet"]["port"] == "management" for kind in ("startup", "liveness", "readiness"))


def test_a_frozen_gateway_is_killed_before_its_clients_notice(objects):
    """SIGTERM does not end a process that is stopped, so the grace period counts."""
    probe = gateway(objects)["containers"][0]["livenessProbe"]
    failures = probe["failureThreshold"] * max(probe["periodSeconds"], probe["timeoutSeconds"])
    assert probe["periodSeconds"] + failures + probe["terminationGracePeriodSeconds"] < GIVE_UP_AFTER


def test_the_grace_period_covers_pre_stop_and_both_parts_of_the_drain(objects, defaults):
    """In the development overlay, which drains faster, the grace period of the base is more than enough."""
    pod = gateway(objects)
    settings = defaults | manifests.settings(objects, pod)
    pause = int(pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    drain = int(settings["ENROUTE_DRAIN_ACCEPT_SECONDS"]) + int(settings["ENROUTE_DRAIN_SECONDS"])
    assert pod["terminationGracePeriodSeconds"] >= pause + drain + RESERVE_SECONDS


def test_a_rollout_starts_all_new_pods_before_an_old_one_asks_its_clients_to_move(overlays):
    """Provided that new pods become ready within 30 s of each other, as the guide says."""
    made = manifests.named(overlays["production"], "Deployment", "enroute")["spec"]
    assert made["strategy"]["rollingUpdate"] == {"maxSurge": "100%", "maxUnavailable": 0}
    settings = manifests.settings(overlays["production"], made["template"]["spec"])
    assert int(settings["ENROUTE_DRAIN_ACCEPT_SECONDS"]) >= 30


def test_readiness_fails_before_a_stopping_gateway_stops_accepting(objects, defaults):
    pod = gateway(objects)
    probe = pod["containers"][0]["readinessProbe"]
    settings = defaults | manifests.settings(objects, pod)
    assert probe["periodSeconds"] * probe["failureThreshold"] < int(settings["ENROUTE_DRAIN_ACCEPT_SECONDS"])


def test_event_loops_and_memory_fit_the_limits_of_the_container(objects):
    pod = gateway(objects)
    limits, settings = pod["containers"][0]["resources"]["limits"], manifests.settings(objects, pod)
    assert settings["ENROUTE_EVENT_LOOPS"] == limits["cpu"]
    memory = {"Gi": 1024, "Mi": 1}[limits["memory"][-2:]] * int(limits["memory"][:-2])
    assert int(settings["ENROUTE_OVERLOAD_MEMORY_MB"]) == memory * 8 // 10


def test_every_setting_exists_and_none_contains_a_password(objects, defaults):
    settings = manifests.settings(objects, gateway(objects))
    assert set(settings) <= set(defaults)
    assert not [name for name, value in settings.items() if "@" in value or name.startswith("ENROUTE_REDIS")]


def test_ports_and_selectors_match(objects):
    """Each Service, budget and policy selects a workload, and names ports that its containers have."""
    for made in of_kind(objects, "Service"):
        selected = [workload for workload in manifests.workloads(objects)
                    if made["spec"]["selector"].items() <= labels(workload).items()]
        assert len(selected) == 1, made["metadata"]["name"]
        ports = {port["name"] for port in selected[0]["spec"]["template"]["spec"]["containers"][0]["ports"]}
        assert {port["targetPort"] for port in made["spec"]["ports"]} <= ports
    for made in of_kind(objects, "PodDisruptionBudget"):
        assert [workload["metadata"]["name"] for workload in manifests.workloads(objects)
                if matches(made["spec"]["selector"], labels(workload))] == ["enroute"]
    for workload in manifests.workloads(objects):
        assert matches(workload["spec"]["selector"], labels(workload))
        for constraint in workload["spec"]["template"]["spec"].get("topologySpreadConstraints", []):
            assert matches(constraint["labelSelector"], labels(workload))


def test_the_gateways_listen_where_the_manifests_expect_it(objects, defaults):
    settings = defaults | manifests.settings(objects, gateway(objects))
    ports = {port["name"]: str(port["containerPort"]) for port in gateway(objects)["containers"][0]["ports"]}
    assert ports == {"public": settings["ENROUTE_LISTEN_PORT"], "management": settings["ENROUTE_MANAGEMENT_PORT"]}


def test_policies_deny_everything_else_and_open_the_management_port_for_monitoring_only(objects):
    policies = of_kind(objects, "NetworkPolicy")
    assert [made["metadata"]["name"] for made in policies
            if made["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}] == ["default-deny"]
    for workload in manifests.workloads(objects):
        ports = {port["name"]: port["containerPort"]
                 for port in workload["spec"]["template"]["spec"]["containers"][0]["ports"]}
        rules = [rule for made in policies if matches(made["spec"]["podSelector"], labels(workload))
                 for rule in made["spec"].get("ingress", [])]
        opened = {port["port"]: rule.get("from") for rule in rules for port in rule["ports"]}
        assert set(opened) == set(ports), "every port is opened by name, and no other"
        assert opened.get("public") is None
        assert all(opened[name] for name in opened if name != "public"), "each other port has known sources"


def test_production_survives_a_node_and_a_development_namespace_stays_small(overlays):
    autoscaler, = of_kind(overlays["production"], "HorizontalPodAutoscaler")
    assert autoscaler["spec"]["minReplicas"] >= 3
    assert autoscaler["spec"]["scaleTargetRef"]["name"] == "enroute"
    assert "replicas" not in manifests.named(overlays["production"], "Deployment", "enroute")["spec"]
    assert not of_kind(overlays["development"], "HorizontalPodAutoscaler")
    assert all(made["spec"]["replicas"] == 1 for made in manifests.workloads(overlays["development"]))


def test_the_adapter_provides_the_metrics_of_the_autoscaler(overlays):
    rules = yaml.safe_load((FOLDER / "prometheus-adapter.yaml").read_text())["rules"]
    provided = {re.match(r"\w+", rule["seriesQuery"])[0] for rule in rules}
    autoscaler, = of_kind(overlays["production"], "HorizontalPodAutoscaler")
    assert {metric["pods"]["metric"]["name"] for metric in autoscaler["spec"]["metrics"]} == provided


def test_the_load_balancer_names_clients_connects_from_its_own_address_and_lets_gateways_drain(overlays):
    """The names of AWS. With the client's address as the source, gateways would refuse the header as untrusted."""
    annotations = manifests.named(overlays["production"], "Service", "enroute")["metadata"]["annotations"]
    attributes = dict(pair.split("=") for pair in annotations[
        "service.beta.kubernetes.io/aws-load-balancer-target-group-attributes"].split(","))
    draining = attributes.pop("target_health_state.unhealthy.draining_interval_seconds")
    assert int(draining) > gateway(overlays["production"])["terminationGracePeriodSeconds"]
    assert attributes == {
        "proxy_protocol_v2.enabled": "true", "preserve_client_ip.enabled": "false",
        "target_health_state.unhealthy.connection_termination.enabled": "false"}


def test_commands_for_production_name_the_namespace():
    commands = re.findall(r"kubectl (?!apply|create namespace|kustomize)[^\n`]+", (FOLDER / "README.md").read_text())
    assert commands and all(command.startswith("kubectl --namespace ") for command in commands), commands


def test_prometheus_finds_the_gateways_under_a_job_that_the_rules_select(overlays):
    """The structure of the ServiceMonitor, since the operator's schema is not part of this repository: see README.md."""
    monitor, = of_kind(overlays["production"], "ServiceMonitor")
    assert set(monitor["spec"]) == {"selector", "endpoints"}
    service, = [made for made in of_kind(overlays["production"], "Service")
                if matches(monitor["spec"]["selector"], made["metadata"]["labels"])]
    assert service["metadata"]["name"].startswith("enroute"), "the job's name"
    endpoint, = monitor["spec"]["endpoints"]
    assert set(endpoint) == {"port", "path", "interval", "scrapeTimeout"}
    assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert service["spec"]["clusterIP"] == "None", "one target for each pod"


def test_the_rules_of_the_operator_are_those_of_prometheus(overlays):
    rule, = of_kind(overlays["production"], "PrometheusRule")
    expected = [group for path in sorted((images.TOP / "deploy/prometheus").glob("*.rules.yml"))
                for group in yaml.safe_load(path.read_text())["groups"]]
    assert rule["spec"]["groups"] == expected and expected
    made = subprocess.run([str(FOLDER / "prometheus-rule")], capture_output=True, text=True, check=True).stdout
    assert (FOLDER / "components/monitoring/prometheusrule.yaml").read_text() == made, "run prometheus-rule again"


def test_secrets_of_production_are_not_in_the_repository(overlays):
    assert not of_kind(overlays["production"], "Secret") and not of_kind(overlays["ingress"], "Secret")
    needed = {volume["secret"]["secretName"] for volume in gateway(overlays["production"])["volumes"]}
    guide = (FOLDER / "README.md").read_text()
    assert all(f"create secret generic {name}" in guide or f"create secret tls {name}" in guide for name in needed)


def test_the_image_of_the_manifests_is_the_version_of_this_repository(objects):
    version = subprocess.run([str(enroute()), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert gateway(objects)["containers"][0]["image"].endswith(f":{version}")
