"""Renders the overlays of deploy/kubernetes with `kubectl kustomize` and checks every object against the schemas of the
Kubernetes API, strictly. `make -C deploy check-kubernetes` runs this file; tests use its functions."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import kubernetes_validate
import yaml

TOP = Path(__file__).resolve().parents[2]
KUBECTL = Path(sys.executable).parent / "kubectl"
VERSIONS = ("1.30", "1.33", "1.37")

OPERATOR = "monitoring.coreos.com/v1"
"""Objects of the Prometheus Operator, for which the API has no schema."""


def kustomize(folder: Path) -> list[dict]:
    """The objects of an overlay."""
    done = subprocess.run([str(KUBECTL), "kustomize", str(folder)], capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr)
    return [made for made in yaml.safe_load_all(done.stdout) if made]


def prepared(folder: Path) -> Path:
    """A copy of deploy/ in `folder` with the keys of the development overlay, as its guide says. Returns the copy."""
    deploy = folder / "deploy"
    shutil.copytree(TOP / "deploy", deploy, ignore=shutil.ignore_patterns("site", ".env"))
    site = deploy / "kubernetes/overlays/development/site"
    subprocess.run([str(deploy / "container/prepare"), "--folder", str(site)], check=True, stdout=subprocess.DEVNULL)
    return deploy


def validate(objects: list[dict], version: str) -> int:
    """Raises kubernetes_validate.ValidationError for an unknown field or a value that is not of its form. Returns the number
    of objects that have a schema."""
    checked = [made for made in objects if made["apiVersion"] != OPERATOR]
    for made in checked:
        kubernetes_validate.validate(made, version, strict=True)
    return len(checked)


def named(objects: list[dict], kind: str, name: str) -> dict:
    return next(made for made in objects if made["kind"] == kind and made["metadata"]["name"] == name)


def workloads(objects: list[dict]) -> list[dict]:
    return [made for made in objects if made["kind"] in ("Deployment", "StatefulSet")]


def settings(objects: list[dict], pod: dict) -> dict[str, str]:
    """The environment of a pod's only container."""
    container = pod["containers"][0]
    values: dict[str, str] = {}
    for source in container.get("envFrom", []):
        values |= named(objects, "ConfigMap", source["configMapRef"]["name"])["data"]
    return values | {entry["name"]: entry["value"] for entry in container.get("env", [])}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for overlay in sorted((prepared(Path(scratch)) / "kubernetes/overlays").iterdir()):
            rendered = kustomize(overlay)
            for api in VERSIONS:
                print(f"{overlay.name}: {validate(rendered, api)} objects are valid for Kubernetes {api}")
