"""Starts the pods of the rendered overlays (manifests.py) without a cluster: the same commands, settings, files, users and
probes, in containers of this machine's programs (containers.py).

The scheduler, Services (addresses and ports of their own), NetworkPolicies, the autoscaler and the load balancer have no
counterpart here."""

import base64
import itertools
import os
import subprocess
import time
from pathlib import Path

import images
from containers import Container, Running
from manifests import named, settings, workloads
from networks import Networks
from stage import enroute

SUBNET = "10.89.77"
NODE = f"{SUBNET}.1"


class Pod:
    """A pod that runs."""

    def __init__(self, objects: list[dict], workload: dict, scratch: Path, namespace: str, hosts: dict[str, str],
                 extra: dict[str, dict[str, bytes]] | None = None, arguments: list[str] | None = None):
        """`extra` are Secrets that the operator creates: files by Secret. `arguments` are used instead of the pod's."""
        self.spec = workload["spec"]["template"]["spec"]
        self.name, self._objects, self._extra = workload["metadata"]["name"], objects, extra or {}
        self._scratch = scratch
        scratch.mkdir(parents=True)
        made, = self.spec["containers"]
        environment, command = settings(objects, self.spec), made.get("command", []) + (arguments or made["args"])
        mounts = [(self._volume(entry["name"]), entry["mountPath"], not entry.get("readOnly", False))
                  for entry in made["volumeMounts"]]
        if "command" not in made:
            image = dict(images.instructions())
            key, _, value = image["ENV"].partition("=")
            environment, command = {key: value} | environment, ["enroute", *command]
            mounts.append((enroute(), "/usr/local/bin/enroute", False))
        security = self.spec["securityContext"]
        self.running: Running = Container(
            self.name, command, environment=environment, user=(security["runAsUser"], security["runAsGroup"]),
            groups=[security["fsGroup"]], mounts=mounts, hosts=hosts, namespace=namespace,
            is_read_only=made["securityContext"]["readOnlyRootFilesystem"]).run(scratch / "c")

    def passes(self, kind: str, address: str) -> bool:
        """Whether a probe (startup, liveness, readiness) succeeds, once."""
        made, = self.spec["containers"]
        probe = made[f"{kind}Probe"]
        if "exec" in probe:
            return self.running.execute(probe["exec"]["command"], probe["timeoutSeconds"]).returncode == 0
        port = next(entry["containerPort"] for entry in made["ports"] if entry["name"] == probe["httpGet"]["port"])
        url = f"http://{address}:{port}{probe['httpGet']['path']}"
        return subprocess.run(
            ["ip", "netns", "exec", self.running.container.namespace, "curl", "-sS", "--fail", "-m",
             str(probe["timeoutSeconds"]), url], capture_output=True).returncode == 0

    def wait_until(self, kind: str, address: str) -> None:
        self.running.process.wait_until(lambda: self.running.pid and self.passes(kind, address), f"its {kind} probe")

    def stop(self) -> tuple[int, float]:
        """Deletes the pod as the kubelet does: preStop, SIGTERM, and at most the grace period for both. Returns the exit code
        and the seconds it took."""
        begin = time.monotonic()
        lifecycle = self.spec["containers"][0].get("lifecycle", {})
        if "preStop" in lifecycle:
            self.running.execute(lifecycle["preStop"]["exec"]["command"])
        rest = self.spec["terminationGracePeriodSeconds"] - (time.monotonic() - begin)
        return self.running.stop(15, rest), time.monotonic() - begin

    def _volume(self, name: str) -> Path:
        """A folder with the contents of a volume, readable as fsGroup and its mode say."""
        folder = self._scratch / f"volume-{name}"
        folder.mkdir()
        group = self.spec["securityContext"]["fsGroup"]
        volume = next((entry for entry in self.spec.get("volumes", []) if entry["name"] == name), None)
        if volume is None:  # of volumeClaimTemplates
            os.chown(folder, -1, group)
            folder.chmod(0o2770)
            return folder
        source = volume.get("secret") or volume["configMap"]
        files = self._files(volume)
        for key, target in [(entry["key"], entry["path"]) for entry in source.get("items", [])] or [(k, k) for k in files]:
            (folder / target).write_bytes(files[key])
            os.chown(folder / target, 0, group)
            (folder / target).chmod(source.get("defaultMode", 0o644))
        folder.chmod(0o755)
        return folder

    def _files(self, volume: dict) -> dict[str, bytes]:
        if "secret" in volume:
            name = volume["secret"]["secretName"]
            if name in self._extra:
                return self._extra[name]
            data = named(self._objects, "Secret", name)["data"]
            return {key: base64.b64decode(value) for key, value in data.items()}
        data = named(self._objects, "ConfigMap", volume["configMap"]["name"])["data"]
        return {key: value.encode() for key, value in data.items()}


class Cluster:
    """The workloads of an overlay, each with one pod in a network of its own."""

    def __init__(self, objects: list[dict], scratch: Path, only: list[str] | None = None,
                 extra: dict[str, dict[str, bytes]] | None = None, arguments: list[str] | None = None):
        self.networks = Networks()
        self.networks.add_bridge("pods")
        self.pods: dict[str, Pod] = {}
        self.addresses: dict[str, str] = {}
        wanted = [made for made in workloads(objects) if only is None or made["metadata"]["name"] in only]
        for number, made in zip(itertools.count(11), wanted):
            self.addresses[made["metadata"]["name"]] = f"{SUBNET}.{number}"
        hosts = self._services(objects, wanted)
        try:
            for made in wanted:
                name = made["metadata"]["name"]
                namespace = self.networks.add_namespace(name)
                self.networks.connect(namespace, "pods", f"{self.addresses[name]}/24")
                self.pods[name] = Pod(objects, made, scratch / name, namespace, hosts, extra, arguments)
        except BaseException:
            self.close()
            raise

    def node(self) -> str:
        """A namespace for commands of the test."""
        namespace = self.networks.add_namespace("node")
        self.networks.connect(namespace, "pods", f"{NODE}/24")
        return namespace

    def close(self) -> None:
        for pod in self.pods.values():
            pod.running.end()
        self.networks.close()

    def _services(self, objects: list[dict], wanted: list[dict]) -> dict[str, str]:
        """What the cluster's DNS would answer: Services by the pods that their selectors match."""
        hosts = {}
        for service in (made for made in objects if made["kind"] == "Service"):
            for made in wanted:
                labels = made["spec"]["template"]["metadata"]["labels"]
                if service["spec"]["selector"].items() <= labels.items():
                    hosts[service["metadata"]["name"]] = self.addresses[made["metadata"]["name"]]
        return hosts
