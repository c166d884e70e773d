#!/usr/bin/env python3
"""A fleet in trouble: three gateways behind HAProxy on a Redis Cluster, followers and riders in several processes, and then a
gateway is killed, drained and frozen, a master fails, slots migrate, and all gateways are deployed one after the other. It
checks that nobody misses a status, and measures how long everybody is interrupted. Only Python's standard library.

    fleet.py ENROUTE [--followers 9000] [--riders 3000] [--phases kill,drain,freeze,master,slots,rolling]
"""
import argparse, concurrent.futures, json, math, os, resource, shutil, subprocess, sys, tempfile, time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))

import report
from faults import FAULTS, NEED_A_CLUSTER
from measure import AFTER, BEFORE, DURING, Meter, phase_figures, verdicts_by_phase
from recovery import SECRET, token
from servers import Balancers, Child, Failed, Gateway, RedisSite, wait_for

# Connections that one HAProxy may have within the limit of 20,000 descriptors: two for each client.
CLIENTS_PER_BALANCER = 9000
CONNECTS_PER_SECOND = 400
SABOTAGE = ("lost", "duplicated", "reordered")


class Worker:
    """A process that answers JSON commands."""

    def __init__(self, group, name, script, folder, plan):
        path = f"{folder}/{name}.json"
        with open(path, "w") as file:
            json.dump(plan, file)
        self.child = Child(
            group, name, [sys.executable, f"{FOLDER}/{script}"], folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.send({"plan": path})

    def send(self, message):
        self.child.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.process.stdin.flush()

    def ask(self, do, **arguments):
        self.send({"do": do, **arguments})
        return self.answer()

    def answer(self):
        line = self.child.process.stdout.readline()
        if not line:
            raise Failed(f"{self.child.name} ended:\n{self.child.tail()}")
        return json.loads(line)


class Fleet:
    GATEWAYS = 3
    # Three failed checks of a balancer that checks once a second, and one in reserve.
    BALANCER_NOTICES_SECONDS = 4
    LIVE_WITHIN, CAUGHT_UP_WITHIN, SETTLED_SECONDS = 120, 30, 2

    def __init__(self, options, folder):
        self.options, self.folder, self.meter, self.pending = options, folder, Meter(), []
        self.redis = self.balancers = self.orders = None
        self.gateways, self.crowds = [], []
        self.threads = concurrent.futures.ThreadPoolExecutor(16)

    # Starting and ending

    def start(self):
        options = self.options
        self.redis = RedisSite(self.folder, not options.single_redis)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ENROUTE_")} | {
            "ENROUTE_REDIS_LIVE_URL": self.redis.url, "ENROUTE_TLS": "off", "ENROUTE_MODE": "development",
            "ENROUTE_LISTEN_HOST": "127.0.0.1", "ENROUTE_LISTEN_TRUSTED_PROXIES": "127.0.0.1",
            "ENROUTE_TOKEN_SECRET": SECRET.decode(), "ENROUTE_LOG_LEVEL": "info", "ENROUTE_EVENT_LOOPS": str(options.loops),
            "ENROUTE_DRAIN_ACCEPT_SECONDS": str(options.drain_accept_seconds),
            "ENROUTE_DRAIN_SECONDS": str(options.drain_seconds)}
        if options.overload_lag_ms:
            environment["ENROUTE_OVERLOAD_LOOP_LAG_MS"] = str(options.overload_lag_ms)
        for name, _ in Balancers.configuration()[1]:
            self.gateways.append(Gateway(options.enroute, name, self.folder, environment))
        for gateway in self.gateways[:self.GATEWAYS]:
            gateway.start()
        for gateway in self.running():
            gateway.wait_until_ready()
        certificate = self.certificate() if options.tls else None
        count = math.ceil((options.followers + options.riders) / CLIENTS_PER_BALANCER)
        self.balancers = Balancers(self.folder, count, self.gateways, certificate)
        time.sleep(self.BALANCER_NOTICES_SECONDS)
        self.start_orders(certificate)
        self.start_crowds(certificate)

    def certificate(self):
        path = f"{self.folder}/haproxy.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", path, "-out", f"{self.folder}/ca.pem"],
            check=True, stderr=subprocess.DEVNULL)
        with open(f"{self.folder}/ca.pem") as source, open(path, "a") as target:
            target.write(source.read())
        return path

    def authority(self, certificate):
        return f"{self.folder}/ca.pem" if certificate else None

    def start_orders(self, certificate):
        """A third of the jobs waits at the shop and changes its status; the others travel."""
        options = self.options
        jobs = [(f"job-{number}", f"customer-{number}", f"rider-{number}") for number in range(options.riders)]
        self.waiting, self.travelling = jobs[:options.riders // 3], jobs[options.riders // 3:]
        self.orders = Worker("orders", "orders", "orders.py", self.folder, {
            "bearer": token("orders", "service"), "ports": self.balancers.ports, "callers": 24,
            "authority": self.authority(certificate), "waiting": self.waiting, "travelling": self.travelling})
        self.orders.ask("create")

    def start_crowds(self, certificate):
        """Spreads followers and riders evenly, so that the followers of one job are in several processes."""
        options, jobs = self.options, self.waiting + self.travelling
        numbers, plans = iter(range(options.followers + options.riders)), []
        for _ in range(options.processes):
            plans.append({"ports": self.balancers.ports, "authority": self.authority(certificate), "interval": options.interval,
                          "followers": [], "riders": [], "sabotage": {}})
        for index in range(options.followers):
            job, customer, _ = jobs[index % len(jobs)]
            number = next(numbers)
            plan = plans[(index + index // len(jobs)) % options.processes]
            plan["followers"].append((number, token(customer, "customer"), job))
            # The first followers are those of jobs that wait, which have statuses.
            if options.sabotage and index < len(SABOTAGE):
                plan["sabotage"][number] = SABOTAGE[index]
        for index, (job, _, rider) in enumerate(jobs):
            plans[index % options.processes]["riders"].append(
                (next(numbers), token(rider, "rider"), job if index >= len(self.waiting) else None))
        for index, plan in enumerate(plans):
            self.crowds.append(Worker("clients", f"crowd-{index}", "crowd.py", self.folder, plan))
        self.ask_all("connect", rate=CONNECTS_PER_SECOND / options.processes)

    def children(self):
        workers = [*self.crowds, *([self.orders] if self.orders else [])]
        return [
            *(gateway.child for gateway in self.running()), *(self.redis.nodes.values() if self.redis else ()),
            *(self.balancers.processes if self.balancers else ()), *(worker.child for worker in workers)]

    def end(self):
        self.threads.shutdown(wait=False)
        for child in self.children():
            if child.process.returncode is None:
                child.process.kill()
                child.process.wait()

    def running(self):
        return [gateway for gateway in self.gateways if gateway.is_running]

    # During a phase

    def ask_all(self, do, **arguments):
        return list(self.threads.map(lambda crowd: crowd.ask(do, **arguments), self.crowds))

    def down(self):
        return sum(state["down"] for state in self.ask_all("state"))

    def wait_until_live(self):
        """Returns the number of clients that are still not live after LIVE_WITHIN."""
        end = time.monotonic() + self.LIVE_WITHIN
        while (down := self.down()) > 0 and time.monotonic() < end:
            time.sleep(0.1)
        return down

    def ended(self, child, number):
        """Ends a child with a signal; its CPU time stays in the sums."""
        self.meter.ended[child.group] += child.end(number)

    def later(self, *steps):
        """Repairs the fleet after everybody is live."""
        self.pending = steps

    def phase(self, name):
        options = self.options
        print(f"{name} …", end=" ", flush=True)
        start = time.time()
        self.meter.mark(self.children())
        time.sleep(options.before)
        fault_at = time.time()
        self.meter.mark(self.children())
        what = FAULTS[name](self)
        fault_over = time.time()
        # Clients notice some faults only after the end of the fault; the shortest phase is as long as a back-off.
        time.sleep(max(0.0, fault_at + options.during - fault_over))
        down, live_at = self.wait_until_live(), time.time()
        self.meter.mark(self.children())
        steps, self.pending = self.pending, []
        for step in steps:
            step()
        after_at = time.time() + self.SETTLED_SECONDS
        time.sleep(self.SETTLED_SECONDS + options.after)
        end = time.time()
        times = {BEFORE: (start, fault_at), DURING: (fault_at, live_at), AFTER: (after_at, end)}
        answers = self.ask_all("collect", windows=[(window, *span) for window, span in times.items()])
        ends = [span[3] for answer in answers for span in answer["spans"] if fault_at <= span[3] <= live_at]
        cpu = {BEFORE: self.meter.between(-3, -2), DURING: self.meter.between(-2, -1)}
        figures = phase_figures(name, what, times, answers, fault_at, max(ends, default=fault_at), cpu)
        figures["not live"] = down
        people = figures["followers"]
        print(f"{people['affected']} followers interrupted, median {people['median']} s, max {people['max']} s; all live after "
              f"{figures['all live after']} s", flush=True)
        return figures, (name, start, end)

    # Results

    def verify(self):
        """Stops the changes, waits until every follower has the newest status, and compares what they received."""
        sent = self.orders.ask("stop")
        path = f"{self.folder}/truth.json"
        read = self.orders.ask("truth", path=path)

        def has_caught_up():
            return sum(answer["behind"] for answer in self.ask_all("behind", path=path)) == 0 or time.sleep(0.2)
        try:
            wait_for("every follower has the newest status", has_caught_up, self.CAUGHT_UP_WITHIN)
        except Failed as failure:
            print(failure, flush=True)
        answers = self.ask_all("verify", path=path)
        return {
            **sent, **read, "expected": sum(answer["expected"] for answer in answers),
            "verdicts": [verdict for answer in answers for verdict in answer["verdicts"]]}

    def run(self):
        options, phases, spans = self.options, [], []
        began = time.monotonic()
        self.start()
        self.orders.ask("start", rate=options.rate)
        if down := self.wait_until_live():
            raise Failed(f"{down} clients were not live within {self.LIVE_WITHIN} s of the start")
        print(f"{options.followers} followers and {options.riders} riders are live after {time.monotonic() - began:.0f} s; "
              f"sessions: {', '.join(f'{gateway.metric(SESSIONS):.0f}' for gateway in self.running())}", flush=True)
        time.sleep(self.SETTLED_SECONDS)
        # The start does not count.
        self.ask_all("collect", windows=[])
        stopped = None
        for name in options.phases:
            try:
                figures, span = self.phase(name)
            except Failed as failure:
                # Measurements until then are reported even so.
                stopped = f"{name}: {failure}"
                print(stopped, flush=True)
                break
            phases.append(figures)
            spans.append(span)
        statuses = self.verify()
        by_phase = verdicts_by_phase(statuses.pop("verdicts"), spans)
        statuses |= {"between": by_phase.pop("between phases"), "by phase": by_phase}
        return {
            "date": report.date(), "machine": report.machine(), "commit": options.commit or report.commit(FOLDER), "statuses": statuses,
            "setup": {
                "gateways": self.GATEWAYS, "loops": options.loops, "balancers": len(self.balancers.ports), "tls": options.tls,
                "descriptors": f"{resource.getrlimit(resource.RLIMIT_NOFILE)[0]:,}",
                "redis": "one redis-server" if options.single_redis else "a Redis Cluster of three masters and three replicas",
                "processes": options.processes, "followers": options.followers, "riders": options.riders,
                "travelling": len(self.travelling), "waiting": len(self.waiting), "interval": options.interval,
                "rate": options.rate, "drain": [options.drain_accept_seconds, options.drain_seconds]},
            "phases": phases, "stopped": stopped}


SESSIONS = "enroute_sessions_open"


def violations(result):
    """Everything that must not happen, as sentences."""
    found = [result["stopped"]] if result["stopped"] else []
    for counts in (*result["statuses"]["by phase"].values(), result["statuses"]["between"]):
        found += [f"{number} statuses {verdict}" for verdict, number in counts.items() if verdict in SABOTAGE]
    for phase in result["phases"]:
        if number := phase["backwards"]["location"]:
            found.append(f"{phase['phase']}: {number} positions went back")
        if phase["phase"] == "rolling" and phase["reconnects per client"]["max"] > 1:
            found.append(f"a client reconnected {phase['reconnects per client']['max']} times during the rolling deploy")
        if phase["not live"]:
            found.append(f"{phase['phase']}: {phase['not live']} clients were not live again within {Fleet.LIVE_WITHIN} s")
        found += [f"{phase['phase']}: {number} times {error}" for error, number in phase["errors"].items()]
    if result["statuses"]["failed"]:
        found.append(f"{result['statuses']['failed']} status changes failed")
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("enroute", type=os.path.abspath)
    options.add_argument("--followers", type=int, default=9000)
    options.add_argument("--riders", type=int, default=3000, help="and as many jobs; a third of them waits")
    options.add_argument("--phases", type=lambda text: text.split(","), default=list(FAULTS))
    options.add_argument("--interval", type=float, default=8, help="s between two reports of a rider")
    options.add_argument("--rate", type=float, default=100, help="status changes a second")
    options.add_argument("--processes", type=int, default=4, help="of the clients")
    options.add_argument("--loops", type=int, default=1, help="event loops of a gateway")
    options.add_argument("--before", type=float, default=10, help="s that are measured before each fault")
    options.add_argument("--during", type=float, default=8, help="s that a phase takes at least")
    options.add_argument("--after", type=float, default=10, help="s that are measured after each fault")
    options.add_argument("--freeze-seconds", type=float, default=20)
    options.add_argument("--slots", type=int, default=1000, help="slots that migrate")
    options.add_argument("--drain-accept-seconds", type=int, default=5)
    options.add_argument("--drain-seconds", type=int, default=10)
    options.add_argument("--overload-lag-ms", type=int, default=0, help="ENROUTE_OVERLOAD_LOOP_LAG_MS; 0 for its default")
    options.add_argument("--tls", action="store_true", help="HAProxy terminates TLS")
    options.add_argument("--single-redis", action="store_true", help="one redis-server instead of a cluster")
    options.add_argument("--sabotage", action="store_true", help="lose, repeat and delay a status, which must be noticed")
    options.add_argument("--results", help="folder for fleet.md and fleet.json")
    options.add_argument("--commit", help="of the gateway, for the results; the one that is checked out by default")
    options.add_argument("--keep", help="new folder for the logs of all processes")
    options = options.parse_args()
    if unknown := set(options.phases) - set(FAULTS):
        sys.exit(f"unknown phases: {', '.join(sorted(unknown))}. The phases are {', '.join(FAULTS)}.")
    if options.single_redis and (impossible := NEED_A_CLUSTER & set(options.phases)):
        sys.exit(f"{', '.join(sorted(impossible))}: needs a cluster; leave out --single-redis.")
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        fleet = Fleet(options, folder)
        try:
            result = fleet.run()
        except Failed as failure:
            sys.exit(str(failure))
        finally:
            fleet.end()
            if options.keep:
                shutil.copytree(folder, options.keep, ignore=shutil.ignore_patterns("*.sock"))
    if options.results:
        os.makedirs(options.results, exist_ok=True)
        with open(f"{options.results}/fleet.json", "w") as file:
            json.dump(result, file, indent=1)
        with open(f"{options.results}/fleet.md", "w") as file:
            file.write(report.markdown(result))
    found = violations(result)
    if options.sabotage:
        expected = sorted(f"1 statuses {verdict}" for verdict in SABOTAGE)
        if sorted(found) != expected:
            sys.exit(f"the checker must report one status each that is lost, duplicated and reordered; it reports {found}")
        print("the checker noticed all three tampered statuses, and nothing else")
    elif found:
        sys.exit("violations: " + "; ".join(found))
    else:
        print("no status was lost, duplicated or reordered, and no position went back")


if __name__ == "__main__":
    main()
