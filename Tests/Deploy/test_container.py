"""The files of deploy/container: the Dockerfile and the compose file. test_container_site.py runs them."""

import json
import re
import subprocess

import pytest

import compose
import images
from stage import enroute

FOLDER = images.TOP / "deploy/container"
IMAGE = dict(images.instructions())
RESERVE_SECONDS = 5


@pytest.fixture(scope="module")
def file() -> dict:
    return compose.read(FOLDER / "compose.yaml", compose.variables(FOLDER / ".env.example") | {"SITE_GROUP": "10001"})


@pytest.fixture(scope="module")
def defaults() -> dict[str, str]:
    """The settings of the gateway with their defaults."""
    text = subprocess.run([str(enroute()), "config", "--example"], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^#(ENROUTE_\w+)=(.*)$", text, re.MULTILINE))


def gateways(file: dict) -> dict[str, dict]:
    return {name: made for name, made in file["services"].items() if "build" in made}


def test_the_compose_file_follows_the_compose_specification(file):
    compose.validate(file)


def test_a_misspelled_key_of_the_compose_file_is_refused(file):
    """The previous test can fail."""
    broken = json.loads(json.dumps(file))
    broken["services"]["live"]["red_only"] = True
    with pytest.raises(ValueError, match="red_only"):
        compose.validate(broken)


def test_without_the_group_of_the_site_the_compose_file_names_the_missing_step():
    with pytest.raises(ValueError, match="run ./prepare first"):
        compose.read(FOLDER / "compose.yaml", compose.variables(FOLDER / ".env.example"))


def test_the_example_of_variables_lists_all_of_them_with_their_defaults():
    text = (FOLDER / "compose.yaml").read_text()
    used = dict(re.findall(r"\$\{(\w+):-([^}]*)\}", text)) | {"SITE_GROUP": ""}
    assert compose.variables(FOLDER / ".env.example") == used


def test_every_service_is_hardened_and_bounded(file):
    for name, made in file["services"].items():
        assert made["read_only"] is True, name
        assert made["cap_drop"] == ["ALL"] and "cap_add" not in made, name
        assert made["security_opt"] == ["no-new-privileges:true"], name
        assert made["user"].split(":")[0] != "0", name
        assert made["mem_limit"] and made["pids_limit"] and made["healthcheck"]["test"], name
        assert made["logging"]["options"]["max-size"], name
        assert not {"privileged", "network_mode", "pid", "ipc", "devices"} & set(made), name
        assert re.search(r":[^:]*\d[^:]*$", made["image"]) and not made["image"].endswith(":latest"), name


def test_gateways_close_idle_sessions_before_their_container_is_out_of_memory(file):
    made = gateways(file)
    assert made
    for gateway in made.values():
        assert gateway["mem_limit"] == "1g"
        assert int(gateway["environment"]["ENROUTE_OVERLOAD_MEMORY_MB"]) == 1024 * 8 // 10


def test_only_haproxy_is_published_beyond_this_machine_if_the_operator_says_so(file):
    """Everything listens on loopback unless .env changes that, and neither Redis nor a management port is published."""
    published = {name: made["ports"] for name, made in file["services"].items() if "ports" in made}
    assert set(published) == {"haproxy", "prometheus", "grafana"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)


def test_every_file_and_folder_that_is_mounted_exists(file):
    """Docker would create a missing folder, and the service would start without its rules or dashboards."""
    sources = [volume.split(":")[0] for made in file["services"].values() for volume in made.get("volumes", [])]
    sources = [source for source in sources if source.startswith(".")]
    sources += [entry["file"] for entry in file["configs"].values() if not entry["file"].startswith("./site/")]
    assert len(sources) > 6 and all((FOLDER / source).exists() for source in sources)


def test_redis_has_no_way_out_and_only_gateways_reach_it(file):
    assert file["networks"]["redis"] == {"internal": True}
    inside = {name for name, made in file["services"].items() if "redis" in made["networks"]}
    assert inside == {"live", "ledger", *gateways(file)}
    assert file["services"]["live"]["networks"] == file["services"]["ledger"]["networks"] == ["redis"]


def test_the_live_redis_has_neither_a_volume_nor_swap(file):
    live = file["services"]["live"]
    assert "volumes" not in live and live["memswap_limit"] == live["mem_limit"]


def test_no_password_or_key_is_in_an_environment(file):
    """`docker inspect` shows environments and commands; secrets are files."""
    for name, made in file["services"].items():
        for key, value in made.get("environment", {}).items():
            assert key.endswith("__FILE") or not re.search("PASSWORD|SECRET|_URL$|TOKEN$", key), (name, key)
            assert "@" not in str(value), (name, key)
    assert all(entry["file"].startswith("./site/") for entry in file["secrets"].values())


def test_a_private_token_key_that_was_removed_does_not_come_back(tmp_path):
    """It would not match the public key, and nobody could see why its tokens are refused."""
    def prepare() -> str:
        return subprocess.run([FOLDER / "prepare", "--folder", tmp_path], capture_output=True, text=True, check=True).stdout

    prepare()
    (tmp_path / "token-private.pem").unlink()
    (tmp_path / "haproxy.pem").unlink()
    assert "haproxy.pem" in prepare()
    assert not (tmp_path / "token-private.pem").exists()
    (tmp_path / "token-public.pem").unlink()
    assert "token-private.pem" in prepare()
    public = subprocess.run(["openssl", "pkey", "-in", tmp_path / "token-private.pem", "-pubout"], capture_output=True, text=True)
    assert public.stdout == (tmp_path / "token-public.pem").read_text()


def test_gateways_have_time_to_drain(file, defaults):
    for name, made in gateways(file).items():
        settings = defaults | made["environment"]
        drain = int(settings["ENROUTE_DRAIN_ACCEPT_SECONDS"]) + int(settings["ENROUTE_DRAIN_SECONDS"])
        assert compose.seconds(made["stop_grace_period"]) == drain + RESERVE_SECONDS, name


def test_every_setting_in_the_files_exists(file, defaults):
    text = "".join(path.read_text() for path in FOLDER.glob("*") if path.is_file())
    # `prepare` composes the names of the addresses of Redis.
    for name in set(re.findall(r"ENROUTE_[A-Z_]*[A-Z]\b", text.replace("ENROUTE_REDIS_${role^^}", "ENROUTE_REDIS_LIVE"))):
        assert name in defaults or name == "ENROUTE_BUILD_REVISION", name


def test_gateways_trust_exactly_haproxys_address(file):
    address = file["services"]["haproxy"]["networks"]["front"]["ipv4_address"]
    for made in gateways(file).values():
        assert made["environment"]["ENROUTE_LISTEN_TRUSTED_PROXIES"] == address


def test_haproxy_knows_every_gateway(file, defaults):
    settings = file["services"]["haproxy"]["environment"]
    port = defaults["ENROUTE_LISTEN_PORT"]
    known = {settings["GATEWAY_1A"], settings["GATEWAY_2A"]}
    assert known == {f"{made['networks']['front']['ipv4_address']}:{port}" for made in gateways(file).values()}


def test_the_image_runs_the_gateway_as_a_number_with_its_own_health_check(defaults):
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", IMAGE["USER"])
    assert json.loads(IMAGE["HEALTHCHECK"].partition("CMD ")[2])[:2] == ["enroute", "probe"]
    assert json.loads(IMAGE["ENTRYPOINT"]) == ["enroute"] and json.loads(IMAGE["CMD"]) == ["serve"]
    assert IMAGE["STOPSIGNAL"] == "SIGTERM"
    assert IMAGE["EXPOSE"].split() == [defaults["ENROUTE_LISTEN_PORT"], defaults["ENROUTE_MANAGEMENT_PORT"]]


def test_the_image_installs_what_the_guide_for_machines_lists():
    """deploy/README.md has the packages of a machine that runs gateways."""
    readme = (images.TOP / "deploy/README.md").read_text()
    listed = set(re.search(r"apt-get install -y (.*libhiredis.*)", readme)[1].split())
    final = [value for name, value in images.instructions() if name == "RUN"][-1]
    assert listed <= set(final.split())


def test_the_revision_reaches_the_compiler_and_the_labels():
    steps = images.instructions()
    compiles = next(index for index, (_, value) in enumerate(steps) if value.startswith("make release"))
    assert steps.index(("ARG", "ENROUTE_BUILD_REVISION=${REVISION}")) == compiles - 1
    assert 'org.opencontainers.image.revision="${REVISION}"' in IMAGE["LABEL"]


def test_no_key_password_or_history_reaches_the_builder():
    files = images.context_files()
    tops = {name.split("/")[0] for name in files}
    assert tops - {"Package.resolved"} == {"LICENSE", "Makefile", "Package.swift", "Sources", "Tests", "benchmarks", "lua"}
    assert not [name for name in files if name.startswith("deploy/") or "/." in name]


def test_every_file_that_the_build_copies_is_in_the_context():
    files = images.context_files()
    for name, value in images.instructions():
        if name == "COPY" and not value.startswith("--from"):
            for source in value.split()[:-1]:
                optional = source == "Package.resolve[d]"
                assert optional or any(file == source or file.startswith(f"{source}/") for file in files), source
