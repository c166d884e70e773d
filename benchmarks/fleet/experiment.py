"""One run of a fleet: starts servers and clients, plays a phase for each fault, and compares the statuses that followers received
with those in Redis."""
import concurrent.futures, math, os, resource, subprocess, time

import report
from faults import FAULTS
from measure import AFTER, BEFORE, DURING, Meter, phase_figures, verdicts_by_phase
from recovery import SECRET, token
from servers import Balancers, Failed, Gateway, RedisSite, wait_for
from worker import Worker

FOLDER = os.path.dirname(os.path.abspath(__file__))
# Connections that one HAProxy may have within the limit of 20,000 descriptors: two for each client.
CLIENTS_PER_BALANCER = 9000
CONNECTS_PER_SECOND = 400
SABOTAGE = ("lost", "duplicated", "reordered")
SESSIONS = "enroute_sessions_open"


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
        """A third of the jobs wait at the vendor and change their status; the others travel."""
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
        """What repairs the fleet after everybody is live."""
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
                # What was measured until then is reported all the same.
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
