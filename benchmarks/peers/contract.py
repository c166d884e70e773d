# The command line of the Python peers: start, check and describe, in the virtual environment created by `install`.
#
# A peer imports this first. Outside that environment the import replaces the process with the environment's interpreter (with
# the same process id), because libssl reads its cipher suites (tls.cnf) only once, when it is loaded.
import json
import os
import platform
import resource
import sys
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PYTHON = FOLDER / ".venv/bin/python"
NAME = Path(sys.argv[0]).name
DESCRIPTORS = 20_000

if not PYTHON.exists():
    print(f"{NAME}: run {FOLDER}/install (creates a virtual environment from requirements.txt)")
    sys.exit(1)
if sys.prefix != str(PYTHON.parent.parent):
    environment = dict(os.environ, OPENSSL_CONF=str(FOLDER / "tls.cnf"))
    os.execve(PYTHON, [str(PYTHON), str(Path(sys.argv[0]).resolve()), *sys.argv[1:]], environment)


def run(start, packages, description):
    """Executes the command line. `start(port, redis_port, context)` returns the coroutine that serves until it ends."""
    verb, arguments = (sys.argv[1:] or [""])[0], sys.argv[2:]
    if verb == "start" and len(arguments) == 4:
        import ssl

        import uvloop

        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, max(DESCRIPTORS, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
        port, redis_port, certificate, key = arguments
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        uvloop.run(start(int(port), int(redis_port), context))
    elif verb == "check":
        for package in packages:
            try:
                version(package)
            except ImportError:
                print(f"{NAME}: {package} is missing, run {FOLDER}/install")
                sys.exit(1)
    elif verb == "describe":
        import ssl

        versions = {package: version(package) for package in packages}
        versions |= {"python": platform.python_version(), "openssl": ssl.OPENSSL_VERSION.split()[1]}
        print(json.dumps({"name": NAME, "versions": versions, **description}))
    else:
        print(f"{NAME} start PORT REDIS_PORT CERT KEY | check | describe", file=sys.stderr)
        sys.exit(2)
