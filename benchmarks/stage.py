"""What a scene needs: Redis, a gateway with TLS and its limits raised, and the load on it. Each server is a child process that is
known by its id and ends with this process. Used by field.py and scaling.py."""
import json, os, subprocess, tempfile
from recovery import SECRET, Redis, free_port, wait_for

FOLDER = os.path.dirname(os.path.abspath(__file__))
# All connections come from one address here, hundreds per second.
RAISED = [
    "SESSIONS_PER_PERSON", "SESSIONS_PER_ADDRESS", "CONNECTIONS_PER_ADDRESS", "MESSAGES_PER_ADDRESS_PER_SECOND",
    "MESSAGES_PER_ADDRESS_BURST", "MESSAGES_PER_PERSON_PER_SECOND", "MESSAGES_PER_PERSON_BURST", "NEW_CONNECTIONS_PER_SECOND",
    "NEW_CONNECTIONS_BURST"]
# A scene connects its clients in tens of seconds and then runs for its own time.
SETUP_SECONDS = 900


class Failed(Exception):
    pass


class Child:
    """A server process on some cores; its log is in the folder."""

    def __init__(self, name, words, folder, cores, environment=None):
        self.log = f"{folder}/{name}.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "taskset", "-c", ",".join(map(str, cores)), *words], env=environment,
                stdout=log, stderr=log)
        self.pid = self.process.pid

    def end(self):
        self.process.kill()
        self.process.wait()


class RedisNode:
    """Commands for the setup of a node."""

    def __init__(self, port):
        import socket
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.file = self.socket.makefile("rb")

    send = Redis.send
    read = Redis.read
    command = staticmethod(Redis.command)


def is_listening(port):
    import socket
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def cores(loops):
    """Returns the cores of the gateway, and those of Redis and the generator: others, unless there are none."""
    available = sorted(os.sched_getaffinity(0))
    gateway = available[:loops]
    return gateway, available[loops:] or available


class Stage:
    """Redis and a gateway, for one scene: a heap that was larger before would hide the memory of a connection.

    With `masters` above 1, Redis is a cluster of that many masters without replicas."""

    def __init__(self, enroute, programs, loops=1, masters=1, environment=None):
        self.enroute, self.programs, self.loops, self.masters = enroute, programs, loops, masters
        self.more = environment or {}
        self.children, self.redis_ports, self.redis_pids = [], [], []

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        self.gateway_cores, self.other_cores = cores(self.loops)
        try:
            self.start_redis()
            self.start_gateway()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.end()
        self.temporary.cleanup()

    def add(self, name, words, cores, environment=None):
        child = Child(name, words, self.folder, cores, environment)
        self.children.append(child)
        return child

    def start_redis(self):
        for number in range(self.masters):
            port, folder = free_port(), f"{self.folder}/redis-{number}"
            os.mkdir(folder)
            words = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder]
            if self.masters > 1:
                words += ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", str(free_port())]
            self.redis_pids.append(self.add(f"redis-{number}", words, self.other_cores).pid)
            self.redis_ports.append(port)
        for port in self.redis_ports:
            wait_for(f"redis-server on port {port}", lambda: is_listening(port))
        if self.masters == 1:
            return
        done = subprocess.run(
            ["redis-cli", "--cluster", "create", *[f"127.0.0.1:{port}" for port in self.redis_ports], "--cluster-replicas", "0",
             "--cluster-yes"], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Failed(f"redis-cli --cluster create: {done.stdout[-1000:]}{done.stderr[-500:]}")
        for port in self.redis_ports:
            node = RedisNode(port)
            wait_for("a healthy cluster", lambda: b"cluster_state:ok" in node.send("CLUSTER", "INFO"))

    def start_gateway(self):
        certificate, key = f"{self.folder}/certificate.pem", f"{self.folder}/key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=localhost", "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
        self.port = free_port()
        scheme = "redis" if self.masters == 1 else "redis+cluster"
        environment = {f"ENROUTE_LIMIT_{name}": "1000000" for name in RAISED} | dict(
            PATH=os.environ["PATH"], ENROUTE_MODE="development", ENROUTE_LISTEN_HOST="127.0.0.1",
            ENROUTE_LISTEN_PORT=str(self.port), ENROUTE_MANAGEMENT="off", ENROUTE_LOG_LEVEL="error",
            ENROUTE_EVENT_LOOPS=str(self.loops), ENROUTE_TOKEN_SECRET=SECRET.decode(),
            ENROUTE_REDIS_LIVE_URL=f"{scheme}://" + ",".join(f"127.0.0.1:{port}" for port in self.redis_ports),
            ENROUTE_TLS_CERTIFICATE_FILE=certificate, ENROUTE_TLS_KEY_FILE=key, ENROUTE_OVERLOAD_LOOP_LAG_MS="60000",
            ENROUTE_OVERLOAD_DESCRIPTOR_PERCENT="100") | self.more
        self.gateway = self.add("gateway", [self.enroute, "serve"], self.gateway_cores, environment)
        try:
            wait_for("the gateway", lambda: is_listening(self.port))
        except RuntimeError as failure:
            with open(self.gateway.log, errors="replace") as log:
                raise Failed(f"{failure}: {log.read()[-2000:]}") from None

    def play(self, *words):
        """Runs enroute-load with a scene. Returns its figures and its output."""
        figures = f"{self.folder}/figures.json"
        redis = [word for port in self.redis_ports for word in ("--redis", f"127.0.0.1:{port}")]
        pids = [word for pid in self.redis_pids for word in ("--redis-pid", str(pid))]
        done = subprocess.run(
            ["taskset", "-c", ",".join(map(str, self.other_cores)), f"{self.programs}/enroute-load", "--url",
             f"wss://127.0.0.1:{self.port}", "--token-secret", SECRET.decode(), "--pid", str(self.gateway.pid), *redis, *pids,
             "--json", figures, *map(str, words)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SETUP_SECONDS)
        if done.returncode != 0:
            with open(self.gateway.log, errors="replace") as log:
                raise Failed(f"enroute-load {' '.join(map(str, words))}: {done.stdout[-1500:]}\n{log.read()[-1500:]}")
        with open(figures) as file:
            return json.load(file), done.stdout
