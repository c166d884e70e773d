"""`make install`, `make uninstall` and `make deb`, with the program that the tests use instead of a release build."""

import os
import re
import subprocess
from pathlib import Path

import pytest

import systemd_machine
from stage import enroute
from systemd_machine import SWIFT, TOP, unpack
from systemd_site import make_install

CONFIGURATION = {
    "etc/enroute/enroute.env", "etc/enroute-redis/live.conf", "etc/enroute-redis/ledger.conf", "etc/enroute-redis/live.acl",
    "etc/enroute-redis/ledger.acl",
}
PROGRAM = {
    "bin/enroute", "lib/systemd/system/enroute@.service", "lib/systemd/system/enroute-redis@.service",
    "lib/sysusers.d/enroute.conf", "lib/tmpfiles.d/enroute.conf", "share/enroute/redis/live.conf",
    "share/enroute/redis/ledger.conf", "share/enroute/redis/sentinel.conf", "share/enroute/redis/live.acl",
    "share/enroute/redis/ledger.acl", "share/man/man1/enroute.1",
    "share/bash-completion/completions/enroute", "share/zsh/site-functions/_enroute",
    "share/fish/vendor_completions.d/enroute.fish", "share/doc/enroute/LICENSE",
    "share/doc/enroute/examples/enroute.env.example", "share/doc/enroute/examples/credentials.conf",
    "share/enroute/haproxy/layer4.cfg", "share/enroute/haproxy/layer7.cfg", "share/enroute/haproxy/rolling-restart",
    "share/enroute/nginx/layer4.conf", "share/enroute/nginx/layer7.conf", "share/enroute/nginx/gateways.conf",
    "share/enroute/prometheus/prometheus.yml", "share/enroute/prometheus/alertmanager.yml",
    "share/enroute/prometheus/enroute.rules.yml", "share/enroute/prometheus/enroute-recording.rules.yml",
    "share/enroute/grafana/enroute-dashboard.json",
}


def guides() -> set[str]:
    paths = [*TOP.glob("deploy/*.md"), *TOP.glob("deploy/*/*.md")]
    return {f"share/doc/enroute/{path.relative_to(TOP / 'deploy')}" for path in paths}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize("prefix", ["/usr/local", "/opt/enroute"])
def test_exactly_these_files_are_installed_and_only_the_configuration_is_left(tmp_path, prefix):
    make_install(tmp_path, f"PREFIX={prefix}")
    assert files(tmp_path) == {f"{prefix[1:]}/{path}" for path in PROGRAM | guides()} | CONFIGURATION
    make_install(tmp_path, f"PREFIX={prefix}", goal="uninstall")
    assert files(tmp_path) == CONFIGURATION


def test_units_and_configurations_name_the_installed_places(tmp_path):
    make_install(tmp_path, "PREFIX=/opt/enroute", "sysconfdir=/opt/etc")
    texts = [path.read_text() for folder in ("lib/systemd/system", "lib/tmpfiles.d") for path in
             (tmp_path / "opt/enroute" / folder).iterdir()]
    texts += [(tmp_path / f"opt/etc/enroute-redis/{role}.conf").read_text() for role in ("live", "ledger")]
    places = set(re.findall(r"(?<![\w.])/(?:usr/local|etc/enroute|opt)[\w./@%-]*", "\n".join(texts)))
    assert not [place for place in places if not place.startswith("/opt/")]
    for place in places:
        place = place.replace("%i", "live").rstrip(".")
        # Written by an operator, or by Redis.
        if "*" not in place and not place.endswith(("/live.env", "/g1.env", "/")):
            assert (tmp_path / place[1:]).exists(), place


def test_everybody_may_read_the_program_and_its_files_whatever_the_umask_of_root_is(tmp_path):
    before = os.umask(0o077)
    try:
        make_install(tmp_path)
    finally:
        os.umask(before)
    installed = list((tmp_path / "usr").rglob("*"))
    modes = {str(path): path.stat().st_mode & 0o777 for path in installed if path.is_file()}
    assert {path: mode for path, mode in modes.items() if mode not in (0o644, 0o755)} == {}
    assert {str(path) for path in installed if path.is_dir() and path.stat().st_mode & 0o755 != 0o755} == set()


def test_a_configuration_that_exists_is_not_overwritten(tmp_path):
    make_install(tmp_path)
    for path in CONFIGURATION:
        (tmp_path / path).write_text("mine")
    make_install(tmp_path)
    assert {(tmp_path / path).read_text() for path in CONFIGURATION} == {"mine"}
    assert {(tmp_path / path).stat().st_mode & 0o777 for path in CONFIGURATION} == {0o640}


def test_installing_builds_nothing_and_says_what_is_missing(tmp_path):
    with pytest.raises(subprocess.CalledProcessError) as failure:
        make_install(tmp_path, f"ENROUTE={tmp_path}/no-program")
    assert "does not exist. Run `make release` first" in failure.value.stderr
    # A root without Swift.
    done = subprocess.run(
        ["make", "-n", "-C", TOP, "install", f"ENROUTE={enroute()}", f"DESTDIR={tmp_path}"], capture_output=True, text=True)
    assert done.returncode == 0 and not re.search(r"swift (build|package)", done.stdout)


def test_shell_completions_and_the_manual_page_are_well_formed(tmp_path):
    make_install(tmp_path)
    share = tmp_path / "usr/local/share"
    subprocess.run(["bash", "-n", share / "bash-completion/completions/enroute"], check=True)
    page = subprocess.run(["man", "--warnings", "-l", share / "man/man1/enroute.1"], capture_output=True, text=True,
                          env=os.environ | {"MANWIDTH": "100", "LC_ALL": "C.UTF-8"}, check=True)
    assert "enroute - live tracking" in page.stdout and "Exit codes: 0 success" in page.stdout and not page.stderr


# MARK: the Debian package


def field(package: Path, name: str) -> str:
    return subprocess.run(["dpkg-deb", "--field", package, name], capture_output=True, text=True, check=True).stdout.strip()


def test_the_package_has_the_version_of_the_program_and_the_libraries_that_it_needs(package):
    version = subprocess.run([enroute(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert field(package, "Version").startswith(f"{version}-")
    for library in ("libc6 (>=", "libhiredis0.14", "libssl3 (>=", "zlib1g (>="):
        assert library in field(package, "Depends")
    listed = subprocess.run(["dpkg-deb", "--info", package, "conffiles"], capture_output=True, text=True, check=True).stdout
    assert set(listed.split()) == {f"/{path}" for path in CONFIGURATION}


def commit(folder: Path, at: str) -> None:
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=a"], check=True,
                   env=os.environ | {"GIT_COMMITTER_DATE": at})


def revision(folder: Path) -> str:
    return subprocess.run([TOP / "deploy/debian/revision"], cwd=folder, capture_output=True, text=True, check=True,
                          env=os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}).stdout.strip()


def test_apt_recognizes_the_package_of_a_newer_commit_of_the_same_version(tmp_path):
    assert revision(tmp_path) == "1"
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    commit(tmp_path, "2026-11-30T22:15:00+0200")
    first = revision(tmp_path)
    assert first == "20261130201500"
    commit(tmp_path, "2026-11-30T21:00:00+0000")
    for older, newer in (("1", first), (first, revision(tmp_path))):
        subprocess.run(["dpkg", "--compare-versions", f"0.1.0-{older}", "lt", f"0.1.0-{newer}"], check=True)


def next_version(package: Path, folder: Path) -> Path:
    """The package with other access lists and another example of the settings."""
    subprocess.run(["dpkg-deb", "--raw-extract", package, folder], check=True)
    for path in ("etc/enroute-redis/ledger.acl", "etc/enroute-redis/live.acl", "etc/enroute/enroute.env"):
        (folder / path).write_text((folder / path).read_text() + "\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", folder, folder.with_suffix(".deb")], check=True,
                   stdout=subprocess.DEVNULL)
    return folder.with_suffix(".deb")


@pytest.mark.skipif(bool(systemd_machine.cannot_run()), reason=f"no fresh system: {systemd_machine.cannot_run()}")
def test_the_package_installs_runs_and_purges_in_a_fresh_system(package, tmp_path):
    root = unpack(tmp_path / "root")
    before = files(root)
    (root / "package.deb").write_bytes(package.read_bytes())
    target = root / SWIFT.relative_to("/")
    target.mkdir(parents=True)

    def run(command: str) -> str:
        """In the system, with the libraries of a debug build, in its own mount namespace."""
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-ec",
             f"[ ! -d {SWIFT} ] || mount --bind {SWIFT} {target}; mount -t proc proc {root}/proc; exec chroot {root} /bin/sh -ec '{command}'"],
            capture_output=True, text=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"})
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    run("dpkg --install /package.deb")
    assert "USAGE: enroute" in run("enroute --help")
    assert run("stat -c %U:%G:%a /etc/enroute /etc/enroute/enroute.env /etc/enroute-redis/live.acl").split() == [
        "root:enroute:750", "root:enroute:640", "root:enroute-redis:640"]
    assert "enroute-redis" in run("getent passwd enroute enroute-redis")
    # Nothing is enabled, so nothing starts without a configuration.
    assert not list((root / "etc/systemd/system").rglob("enroute*"))
    run("dpkg --verify enroute")
    # An upgrade without a terminal, as in deploy/systemd/README.md: what the operator has changed stays.
    (root / "next.deb").write_bytes(next_version(package, tmp_path / "next").read_bytes())
    for path in ("etc/enroute-redis/ledger.acl", "etc/enroute/enroute.env"):
        (root / path).write_text("# an operator\n")
    run("dpkg --force-confold --install /next.deb")
    for path in ("etc/enroute-redis/ledger.acl", "etc/enroute/enroute.env"):
        assert (root / path).read_text() == "# an operator\n" and (root / f"{path}.dpkg-dist").exists()
    assert (root / "etc/enroute-redis/live.acl").read_text() == (tmp_path / "next/etc/enroute-redis/live.acl").read_text()
    run("mkdir -p /var/lib/enroute-redis/ledger; touch /var/lib/enroute-redis/ledger/appendonly.aof")
    run("dpkg --remove enroute")
    assert (root / "etc/enroute/enroute.env").exists() and not (root / "usr/bin/enroute").exists()
    assert "/var/lib/enroute-redis is still there" in run("dpkg --purge enroute")
    left = {path for path in files(root) - before if not path.startswith(("var/lib/dpkg/", "var/log/"))}
    # Users stay, as usual: files may still belong to them.
    assert left - {"package.deb", "next.deb"} <= {"var/lib/enroute-redis/ledger/appendonly.aof", "etc/.pwd.lock", "etc/passwd-", "etc/group-",
                                      "etc/shadow-", "etc/gshadow-"}
