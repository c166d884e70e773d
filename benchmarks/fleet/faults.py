"""The faults of each phase. When a fault is over, it returns a sentence about what was done; the phase then
waits until every client is live again."""
import os, signal, socket, time

from servers import Balancers, Child, Failed, wait_for

ROLLING_SECONDS = 400


def busiest(fleet):
    """The gateway with the most sessions."""
    return max(fleet.running(), key=lambda gateway: gateway.metric("enroute_sessions_open"))


def end_busiest(fleet, number):
    """Ends the busiest gateway by a signal; it starts again when everybody is live. Returns how many sessions it had."""
    gateway = busiest(fleet)
    sessions = gateway.metric("enroute_sessions_open")
    fleet.ended(gateway.child, number)
    fleet.later(gateway.start, gateway.wait_until_ready)
    return sessions


def kill(fleet):
    return f"SIGKILL to the gateway with the most sessions ({end_busiest(fleet, signal.SIGKILL):.0f})"


def drain(fleet):
    return f"SIGTERM to the gateway with the most sessions ({end_busiest(fleet, signal.SIGTERM):.0f}), until it ended"


def freeze(fleet):
    """SIGSTOP to the busiest gateway, and SIGCONT."""
    gateway = busiest(fleet)
    sessions = gateway.metric("enroute_sessions_open")
    gateway.child.notify(signal.SIGSTOP)
    time.sleep(fleet.options.freeze_seconds)
    gateway.child.notify(signal.SIGCONT)
    gateway.wait_until_ready()
    return f"SIGSTOP to the gateway with the most sessions ({sessions:.0f}), SIGCONT after {fleet.options.freeze_seconds} s"


def master(fleet):
    """SIGKILL to a Redis master; it starts again, empty, as a replica, when everybody is live."""
    redis = fleet.redis
    _, port = redis.masters()[0]
    fleet.ended(redis.nodes[port], signal.SIGKILL)
    began = time.monotonic()
    wait_for(
        "a replica became the master", lambda: len(redis.masters()) == 3 and redis.is_healthy(),
        poll_seconds=redis.POLL_SECONDS)
    elapsed = time.monotonic() - began
    fleet.later(lambda: redis.start(port), redis.wait_until_healthy)
    return f"SIGKILL to one of three masters; its replica served all its slots after {elapsed:.1f} s (node timeout 5 s)"


def slots(fleet):
    """redis-cli --cluster reshard moves slots from one master to another."""
    redis = fleet.redis
    (source, port), (target, _) = redis.masters()[:2]
    began = time.monotonic()
    redis.cli(
        "--cluster", "reshard", f"127.0.0.1:{port}", "--cluster-from", source, "--cluster-to", target, "--cluster-slots",
        str(fleet.options.slots), "--cluster-yes")
    elapsed = time.monotonic() - began
    redis.wait_until_healthy()
    return f"redis-cli --cluster reshard moved {fleet.options.slots} of 16,384 slots in {elapsed:.1f} s"


def rolling(fleet):
    """deploy/haproxy/rolling-restart replaces every gateway. Its commands reach this process through a socket, because the
    gateways must be children of this thread: the kernel ends them together with the thread that started them."""
    path, slots = f"{fleet.folder}/control.sock", {gateway.name: gateway for gateway in fleet.gateways}

    def command(name):
        return f'echo "{name} $1" | socat -t {ROLLING_SECONDS} - UNIX-CONNECT:{path} | grep -q done'

    words = [f"{Balancers.SHIPPED}/rolling-restart", "--start", command("start"), "--stop", command("stop")]
    for place in fleet.balancers.sockets:
        words += ["--socket", f"UNIX-CONNECT:{place}"]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listener.settimeout(0.1)
        script = Child("deploy", "rolling-restart", words, fleet.folder)
        end = time.monotonic() + ROLLING_SECONDS
        while not script.has_ended():
            if time.monotonic() > end:
                script.end()
                raise Failed(f"rolling-restart did not end within {ROLLING_SECONDS} s:\n{script.tail()}")
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                what, name = connection.recv(100).decode().split()
                if what == "start":
                    slots[name].start()
                else:
                    fleet.ended(slots[name].child, signal.SIGTERM)
                connection.sendall(b"done\n")
    if script.process.wait() != 0:
        raise Failed(f"rolling-restart failed:\n{script.tail()}")
    os.unlink(path)
    return "`deploy/haproxy/rolling-restart`: each gateway in turn is replaced by a new process in a free slot"


FAULTS = dict(kill=kill, drain=drain, freeze=freeze, master=master, slots=slots, rolling=rolling)
NEED_A_CLUSTER = {"master", "slots"}
