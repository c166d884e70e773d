"""Runs the benchmarks and starts the servers of the smoke test (smoke.py)."""
import socket, subprocess, time

LONGEST_SECONDS = 240


class Failed(Exception):
    pass


def run(name, *words):
    """Runs a benchmark to its end, and shows its output if it failed."""
    begin = time.monotonic()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONGEST_SECONDS)
    if done.returncode != 0:
        raise Failed(f"{name} exited with {done.returncode}:\n{done.stdout}")
    print(f"{name}: runs ({time.monotonic() - begin:.1f} s)", flush=True)
    return done.stdout


class Server:
    """A child process, terminated by its id."""

    def __init__(self, *words, **options):
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *words], **options)

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def is_up(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def redis(port, folder):
    return Server(
        "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder,
        stdout=subprocess.DEVNULL)
