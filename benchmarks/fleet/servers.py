"""The servers of the fleet: a Redis Cluster (or one redis-server), gateways and HAProxy, each a child process that is known by
its id and ended by it, even if this process is killed."""
import os, random, re, signal, socket, subprocess, time, urllib.error, urllib.request

TICKS = os.sysconf("SC_CLK_TCK")
START_SECONDS, STOP_SECONDS, POLL_SECONDS = 60, 60, 0.02


class Failed(Exception):
    pass


def wait_for(what, is_so, seconds=START_SECONDS, poll_seconds=POLL_SECONDS):
    """Polls until `is_so()`, and returns its value."""
    end = time.monotonic() + seconds
    while True:
        if found := is_so():
            return found
        if time.monotonic() > end:
            raise Failed(f"not within {seconds} s: {what}")
        time.sleep(poll_seconds)


def service_port():
    """Returns a free port outside the range of outgoing connections, so that a restarted server finds it free again. The port
    10,000 above is free too, for the bus of a Redis Cluster."""
    while True:
        port = random.randrange(11_000, 22_000)
        try:
            for number in (port, port + 10_000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
            return port
        except OSError:
            continue


class Child:
    """A process. Its log is `name`.log in the folder."""

    def __init__(self, group, name, words, folder, environment=None, **pipes):
        self.group, self.name, self.log = group, name, f"{folder}/{name}.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *words], env=environment, stderr=log,
                **({"stdout": log, "stdin": subprocess.DEVNULL} | pipes))
        self.pid = self.process.pid

    def cpu(self):
        """Returns the CPU time in s that it has used, also right after its end."""
        try:
            with open(f"/proc/{self.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / TICKS
        except OSError:
            return 0.0

    def has_ended(self):
        return self.process.returncode is not None or os.waitid(
            os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def notify(self, number):
        os.kill(self.pid, number)

    def end(self, number=signal.SIGKILL, seconds=STOP_SECONDS):
        """Sends a signal, waits for the end and returns the CPU time that the process used."""
        if self.process.returncode is not None:
            return 0.0
        self.notify(number)
        wait_for(f"the end of {self.name}", self.has_ended, seconds)
        used = self.cpu()
        self.process.wait()
        return used

    def tail(self):
        with open(self.log, errors="replace") as file:
            return "".join(file.readlines()[-20:])


class RedisSite:
    """A cluster of three masters and three replicas, or a single redis-server."""
    NODES, NODE_TIMEOUT_MS = 6, 5000
    # Each look at a node starts a redis-cli, which needs CPU time that the fleet needs too.
    POLL_SECONDS = 0.25

    def __init__(self, folder, is_cluster):
        self.folder, self.is_cluster = folder, is_cluster
        self.ports, self.nodes = [], {}
        for _ in range(self.NODES if is_cluster else 1):
            self.start(service_port())
        for port in self.ports:
            wait_for(f"redis-server on port {port}", lambda: self.says(port, "PING") == "PONG")
        if is_cluster:
            addresses = [f"127.0.0.1:{port}" for port in self.ports]
            self.cli("--cluster", "create", *addresses, "--cluster-replicas", "1", "--cluster-yes")
            self.wait_until_healthy()

    @property
    def url(self):
        return ("redis+cluster://" if self.is_cluster else "redis://") + ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def start(self, port):
        folder = f"{self.folder}/redis-{port}"
        os.makedirs(folder, exist_ok=True)
        words = [
            "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder,
            "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "1", "--repl-diskless-load", "swapdb"]
        if self.is_cluster:
            words += [
                "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout",
                str(self.NODE_TIMEOUT_MS), "--cluster-require-full-coverage", "no"]
        self.nodes[port] = Child("redis", f"redis-{port}", words, self.folder)
        if port not in self.ports:
            self.ports.append(port)

    def cli(self, *words):
        done = subprocess.run(["redis-cli", *words], capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Failed(f"redis-cli {' '.join(words)}: {done.stdout[-2000:]}{done.stderr[-500:]}")
        return done.stdout.strip()

    def says(self, port, *words):
        done = subprocess.run(["redis-cli", "-p", str(port), *words], capture_output=True, text=True, timeout=10)
        return done.stdout.strip()

    def view(self, port):
        """Returns (id, port, flags, number of slots) of every node, as one of them sees it; nothing while it is loading."""
        rows = []
        for line in self.says(port, "CLUSTER", "NODES").splitlines():
            words, slots = line.split(), 0
            if len(words) < 8 or "@" not in words[1]:
                continue
            for part in words[8:]:
                if re.fullmatch(r"\d+(-\d+)?", part):
                    first, _, last = part.partition("-")
                    slots += int(last or first) - int(first) + 1
            rows.append((words[0], int(re.search(r":(\d+)@", words[1]).group(1)), words[2].split(","), slots))
        return rows

    def awake(self):
        return [port for port, node in self.nodes.items() if not node.has_ended()]

    def masters(self):
        """Returns (id, port) of each master that serves slots, the one with the most first."""
        rows = [row for row in self.view(self.awake()[0]) if "master" in row[2] and "fail" not in row[2] and row[3] > 0]
        return [row[:2] for row in sorted(rows, key=lambda row: -row[3])]

    def is_healthy(self):
        """All nodes agree that every slot is served, and every replica is up to date."""
        for port in self.awake():
            rows = self.view(port)
            if "cluster_state:ok" not in self.says(port, "CLUSTER", "INFO"):
                return False
            owners = [row for row in rows if "master" in row[2] and not {"fail", "fail?"} & set(row[2])]
            if sum(row[3] for row in owners) != 16_384:
                return False
            replication = self.says(port, "INFO", "replication")
            if "role:slave" in replication and "master_link_status:up" not in replication:
                return False
        return True

    def wait_until_healthy(self):
        wait_for("a healthy cluster", self.is_healthy, poll_seconds=self.POLL_SECONDS)


class Balancers:
    """HAProxy processes with the shipped configuration; clients are spread over them."""
    SHIPPED = os.path.normpath(f"{os.path.dirname(os.path.abspath(__file__))}/../../deploy/haproxy")

    @classmethod
    def configuration(cls):
        """Returns the shipped file, and the name and the variable of each of its slots for gateways."""
        with open(f"{cls.SHIPPED}/layer7.cfg") as file:
            text = file.read()
        return text, re.findall(r"\n    server (\S+) \"\$\{(\w+)-", text)

    def __init__(self, folder, count, gateways, certificate):
        text, slots = self.configuration()
        if not certificate:
            text = re.sub(r"(\n    bind .*) ssl crt .*", r"\1", text, count=1)
        self.ports, self.processes = [service_port() for _ in range(count)], []
        self.sockets = [f"{folder}/haproxy-{number}.sock" for number in range(count)]
        for number, port in enumerate(self.ports):
            path, environment = f"{folder}/haproxy-{number}.cfg", dict(os.environ)
            with open(path, "w") as file:
                file.write(text)
            for (_, variable), gateway in zip(slots, gateways, strict=True):
                environment |= {variable: f"127.0.0.1:{gateway.port}", f"{variable}_MANAGEMENT": str(gateway.management)}
            environment |= {
                "BALANCER_USER": "root", "BALANCER_GROUP": "root", "BALANCER_SOCKET": self.sockets[number],
                "BALANCER_MAXCONN": "9500", "BALANCER_BIND": f"127.0.0.1:{port}", "BALANCER_CERTIFICATE": certificate or "",
                "BALANCER_METRICS": f"127.0.0.1:{service_port()}"}
            self.processes.append(Child("haproxy", f"haproxy-{number}", ["haproxy", "-db", "-f", path], folder, environment))
        for port in self.ports:
            wait_for(f"HAProxy on port {port}", lambda: is_listening(port))


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Gateway:
    """A slot of the balancers, and the gateway that runs in it at times."""

    def __init__(self, enroute, name, folder, environment):
        self.enroute, self.name, self.folder = enroute, name, folder
        self.port, self.management = service_port(), service_port()
        self.environment = environment | {
            "ENROUTE_GATEWAY_NAME": name, "ENROUTE_LISTEN_PORT": str(self.port), "ENROUTE_MANAGEMENT_PORT": str(self.management)}
        self.child = None

    @property
    def is_running(self):
        return self.child is not None and self.child.process.returncode is None

    def start(self):
        self.child = Child("gateways", self.name, [self.enroute, "serve"], self.folder, self.environment)

    def wait_until_ready(self):
        wait_for(f"{self.name} is ready", self.is_ready)

    def is_ready(self):
        if self.child.has_ended():
            raise Failed(f"{self.name} ended:\n{self.child.tail()}")
        return self.manage("/readyz")[0] == 200

    def manage(self, path):
        """Returns the HTTP status and the text of a page of the management port; (0, "") without a response."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.management}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""
        except OSError:
            return 0, ""

    def metric(self, name):
        """The sum of a metric over its labels."""
        rows = [row for row in self.manage("/metrics")[1].splitlines() if re.match(rf"{name}[ {{]", row)]
        return sum(float(row.split()[-1]) for row in rows)
