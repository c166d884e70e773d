"""Builds the image of deploy/container/Dockerfile without a container engine: reads the file and executes its instructions in
root directories that mmdebstrap makes. Needs root, apt, and the packages mmdebstrap and util-linux.

Two things differ from an engine, because no registry can be reached here. A fresh Debian takes the place of the image
debian:bookworm-slim. The same with the packages of the image swift:6.3-bookworm and this machine's toolchain in /opt/swift
takes the place of that image.

By hand, with the stage that compiles (a quarter of an hour):

    python3 Tests/Deploy/images.py FOLDER"""

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pathspec
from dockerfile_parse import DockerfileParser

TOP = Path(__file__).resolve().parents[2]
DOCKERFILE = TOP / "deploy/container/Dockerfile"
CACHE = TOP / ".build-deploy/roots"
TOOLCHAIN = Path("/opt/swift")

# The packages that the image swift:6.3-bookworm installs besides the toolchain.
SWIFT_PACKAGES = """binutils-gold ca-certificates gcc git gnupg2 libc6-dev libcurl4-openssl-dev libedit2 libgcc-12-dev
    libncurses-dev libpython3-dev libsqlite3-0 libstdc++-12-dev libxml2-dev libz3-dev pkg-config tzdata zlib1g-dev""".split()


@dataclass
class Image:
    """An image: a root directory and how to run it."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: tuple[int, int] = (0, 0)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    healthcheck: list[str] = field(default_factory=list)
    stop_signal: str = "SIGTERM"
    ports: list[int] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile in order, without comments."""
    return [(step["instruction"], step["value"]) for step in DockerfileParser(path=str(DOCKERFILE)).structure
            if step["instruction"] != "COMMENT"]


def context_files() -> list[str]:
    """The files that an engine would receive, as .dockerignore says. Its patterns start at the top, unlike .gitignore's."""
    patterns = []
    for line in (TOP / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            negation, pattern = ("!", line[1:]) if line.startswith("!") else ("", line)
            patterns.append(f"{negation}{pattern if pattern.startswith('**') else f'/{pattern}'}")
    ignored = pathspec.GitIgnoreSpec.from_lines(patterns)
    tops = [entry for entry in TOP.iterdir() if not entry.name.startswith(".")]
    files = [path for top in tops for path in ([top] if top.is_file() else top.rglob("*")) if path.is_file()]
    return sorted(name for name in (str(path.relative_to(TOP)) for path in files) if not ignored.match_file(name))


def base() -> Path:
    """A fresh Debian, as a tar archive that is made once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    archive = CACHE / "bookworm.tar"
    if not archive.exists():
        unfinished = CACHE / f"bookworm-{os.getpid()}.tar"
        subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", "bookworm", str(unfinished),
             "/etc/apt/sources.list.d/debian.sources"], check=True)
        unfinished.rename(archive)
    return archive


class Build:
    """One build. `binary` takes the place of the stage `build`, which is skipped then."""

    def __init__(self, folder: Path, binary: Path | None = None):
        self.folder, self.binary = folder, binary
        self._globals: dict[str, str] = {}
        """Arguments before the first FROM: for FROM, and as defaults of a stage that declares the same name."""
        self._arguments: dict[str, str] = {}
        """Arguments of the current stage, which its RUN instructions have in their environment."""
        self.stages: dict[str, Image] = {}
        self.log: list[str] = []

    def run(self) -> Image:
        """Executes every instruction, and returns the image of the last stage."""
        image, skips = None, False
        for name, value in instructions():
            if name == "FROM":
                origin, stage = self._stage(self._expand(value, self._globals))
                self._arguments = {}
                skips = stage == "build" and self.binary is not None
                image = self.stages[stage] = Image(self.folder / stage)
                if not skips:
                    self._unpack(image.root, origin)
            elif not skips:
                self._step(image, name, value)
            print(f"{'skipped: ' if skips else ''}{name} {value[:100]}", flush=True)
        return image

    def _step(self, image: Image | None, name: str, value: str) -> None:
        if name == "ARG":
            key, _, default = value.partition("=")
            if image is None:
                self._globals[key] = default
            else:
                self._arguments[key] = self._expand(default, self._arguments) or self._globals[key]
            return
        if name in ("LABEL", "ENV"):
            pairs = dict(re.findall(r'([\w.]+)=("[^"]*"|\S+)', value))
            pairs = {key: self._expand(text.strip('"'), self._arguments) for key, text in pairs.items()}
            (image.labels if name == "LABEL" else image.environment).update(pairs)
        elif name == "RUN":
            self._shell(image, value)
        elif name == "COPY":
            self._copy(image, shlex.split(value))
        elif name == "WORKDIR":
            image.workdir = value
            (image.root / value.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif name == "USER":
            user, _, group = value.partition(":")
            image.user = (int(user), int(group))
        elif name == "EXPOSE":
            image.ports = [int(port) for port in value.split()]
        elif name == "HEALTHCHECK":
            image.healthcheck = json.loads(value[value.index("CMD") + 3:])
        elif name == "STOPSIGNAL":
            image.stop_signal = value
        elif name == "ENTRYPOINT":
            image.entrypoint = json.loads(value)
        elif name == "CMD":
            image.command = json.loads(value)
        else:
            raise NotImplementedError(f"{name} {value}")

    def _stage(self, value: str) -> tuple[str, str]:
        origin, _, stage = value.partition(" AS ")
        return origin, stage or "final"

    @staticmethod
    def _expand(text: str, values: dict[str, str]) -> str:
        return re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], text)

    def _unpack(self, root: Path, origin: str) -> None:
        root.mkdir(parents=True)
        subprocess.run(["tar", "--extract", "--file", str(base()), "--directory", str(root)], check=True)
        if origin.startswith("swift:"):
            self._shell(Image(root), f"apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq "
                                     f"--no-install-recommends {' '.join(SWIFT_PACKAGES)}")
            (root / "opt/swift").mkdir()
        elif not origin.startswith("debian:bookworm-slim"):
            raise NotImplementedError(origin)

    def _shell(self, image: Image, command: str) -> None:
        """RUN: as root, with this machine's network and its configuration of apt, and the toolchain if there is one."""
        variables = {"PATH": f"{TOOLCHAIN}/usr/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                     "HOME": "/root"} | self._arguments | image.environment
        script = [
            "set -e", f"cd {shlex.quote(str(image.root))}", "mount -t proc proc proc", "mount --rbind /dev dev",
            "cp -f --dereference /etc/resolv.conf etc/resolv.conf",
            # Read-only, as is everything of this machine: packages that are installed inside must not change it.
            "mount --bind -o ro /etc/apt etc/apt"]
        if (image.root / "opt/swift").exists():
            script.append(f"mount --bind -o ro {TOOLCHAIN} opt/swift")
            # Stands for the network, from which SwiftPM would fetch the dependencies.
            store = Path.home() / ".cache/org.swift.swiftpm"
            if store.exists():
                script.append("mount -t tmpfs tmpfs mnt && mkdir -p mnt/up mnt/work root/.cache/org.swift.swiftpm && mount "
                              f"-t overlay -o lowerdir={store},upperdir=mnt/up,workdir=mnt/work overlay "
                              "root/.cache/org.swift.swiftpm")
        words = " ".join(shlex.quote(f"{key}={text}") for key, text in variables.items())
        script.append(f"chroot . env -i -C {image.workdir} {words} sh -c {shlex.quote(command)}")
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "bash", "-c",
             "\n".join(script)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.log.append(f"RUN {command}\n{done.stdout}")
        if done.returncode:
            raise AssertionError(f"RUN {command} ended with {done.returncode}:\n{done.stdout[-3000:]}")

    def _copy(self, image: Image, words: list[str]) -> None:
        *sources, target = [word for word in words if not word.startswith("--")]
        stage = next((word.removeprefix("--from=") for word in words if word.startswith("--from=")), None)
        place = image.root / (target if target.startswith("/") else f"{image.workdir}/{target}").lstrip("/")
        if stage:
            origin = self.binary if self.binary else self.stages[stage].root / sources[0].lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(origin, place)
            return
        files = context_files()
        copied = 0
        for source in sources:
            for found in glob.glob(source, root_dir=TOP):
                path = Path(found)
                for name in files:
                    if name == found:
                        destination = place / path.name if target.endswith("/") else place
                    elif name.startswith(f"{found}/"):
                        destination = place / Path(name).relative_to(path)
                    else:
                        continue
                    destination.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(TOP / name, destination)
                    copied += 1
        if not copied:
            raise AssertionError(f"COPY {' '.join(words)}: nothing of that is in the context")


if __name__ == "__main__":
    made = Build(Path(sys.argv[1]).resolve())
    print(made.run())
    (made.folder / "build.log").write_text("\n".join(made.log))
