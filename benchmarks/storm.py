#!/usr/bin/env python3
"""A storm of reconnects: 10,000 clients, each of which follows a job on one of two gateways, lose that gateway and connect to the
other one, by the rules of enroute.js. First every client makes a full TLS handshake, then every client resumes its session.
Only Python's standard library.

    storm.py ENROUTE [--clients 10000] [--processes 2] [--results results]
"""
import argparse, asyncio, json, multiprocessing, os, resource, signal, ssl, statistics, subprocess, sys, tempfile, time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{FOLDER}/fleet")

from recovery import SECRET, token
from report import commit, machine, table
from servers import Gateway, RedisSite
from status import Caller
from storm_clients import work

OPENING_PER_SECOND, CREATORS = 400, 16
KINDS = {"full handshakes": False, "resumed sessions": True}


async def create(port, authority, clients):
    """Creates a job for each client."""
    tls, bearer = ssl.create_default_context(cafile=authority), token("orders", "service")

    async def some(numbers):
        caller = Caller()
        caller.reader, caller.writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname="localhost")
        for number in numbers:
            await caller.ask(port, "POST", "jobs", dict(job=f"job-{number}", kind="delivery", customer=f"customer-{number}"), bearer)
        caller.writer.close()

    await asyncio.gather(*(some(range(index, clients, CREATORS)) for index in range(CREATORS)))


class Storm:
    def __init__(self, options, folder):
        self.options, self.folder, self.authority = options, folder, f"{folder}/certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", f"{folder}/key.pem", "-out", self.authority],
            check=True, stderr=subprocess.DEVNULL)
        with open(f"{folder}/ticket.key", "wb") as file:
            file.write(os.urandom(80))

    def measure(self, kind, resumes):
        options, folder = self.options, tempfile.mkdtemp(dir=self.folder)
        redis = RedisSite(folder, False)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ENROUTE_")} | {
            "ENROUTE_REDIS_LIVE_URL": redis.url, "ENROUTE_MODE": "development", "ENROUTE_LISTEN_HOST": "127.0.0.1",
            "ENROUTE_TLS_CERTIFICATE_FILE": self.authority, "ENROUTE_TLS_KEY_FILE": f"{self.folder}/key.pem",
            "ENROUTE_TLS_TICKET_KEY_FILES": f"{self.folder}/ticket.key", "ENROUTE_TOKEN_SECRET": SECRET.decode(),
            "ENROUTE_EVENT_LOOPS": "1", "ENROUTE_OVERLOAD_LOOP_LAG_MS": "60000", "ENROUTE_LOG_LEVEL": "info"}
        gateways = [Gateway(options.enroute, name, folder, environment) for name in ("a", "b")]
        for gateway in gateways:
            gateway.start()
        for gateway in gateways:
            gateway.wait_until_ready()
        asyncio.run(create(gateways[0].port, self.authority, options.clients))
        workers, pipes = [], []
        for index in range(options.processes):
            ours, theirs = multiprocessing.Pipe()
            workers.append(multiprocessing.Process(
                target=work, args=(range(index, options.clients, options.processes), self.authority, theirs), daemon=True))
            workers[-1].start()
            pipes.append(ours)
        try:
            return self.run(kind, resumes, gateways, redis, pipes)
        finally:
            for worker in workers:
                worker.kill()
                worker.join()
            for gateway in gateways:
                gateway.child.end()
            for node in redis.nodes.values():
                node.end()

    @staticmethod
    def ask(pipes, *command):
        for pipe in pipes:
            pipe.send(command)
        answers = [pipe.recv() for pipe in pipes]
        for is_done, answer in answers:
            if not is_done:
                sys.exit(f"storm.py: {answer}")
        return [answer for _, answer in answers]

    def run(self, kind, resumes, gateways, redis, pipes):
        count, (killed, other), node = self.options.clients, gateways, next(iter(redis.nodes.values()))
        before = killed.child.cpu()
        self.ask(pipes, "open", killed.port, OPENING_PER_SECOND / len(pipes))
        opening = killed.child.cpu() - before
        for pipe in pipes:
            pipe.send(("storm", other.port, resumes))
        before, redis_before, accepted = other.child.cpu(), node.cpu(), other.metric("enroute_connections_accepted_total")
        pauses, at = other.metric("enroute_accept_pauses_total"), time.time()
        killed.child.end(signal.SIGKILL)
        answers = [pipe.recv() for pipe in pipes]
        for is_done, answer in answers:
            if not is_done:
                sys.exit(f"storm.py: {answer}")
        cpu, redis_cpu = other.child.cpu() - before, node.cpu() - redis_before
        answers = [answer for _, answer in answers]
        live = sorted(moment - at for answer in answers for moment in answer["live"])
        took = sorted(seconds for answer in answers for seconds in answer["took"])
        refused = {}
        for answer in answers:
            for why, number in answer["refused"].items():
                refused[why] = refused.get(why, 0) + number
        return {
            "kind": kind, "clients": count, "resumed": sum(answer["resumed"] for answer in answers),
            "gateway CPU µs per reconnect": round(cpu / count * 1e6), "Redis CPU µs per reconnect": round(redis_cpu / count * 1e6),
            "gateway CPU µs per connection opened before": round(opening / count * 1e6),
            "all noticed after s": round(max(answer["lost"][1] for answer in answers) - at, 2),
            "median live after s": round(statistics.median(live), 2), "all live after s": round(live[-1], 2),
            "attempt ms": {"p50": round(took[count // 2] * 1000), "p99": round(took[count * 99 // 100] * 1000)},
            "connections accepted": round(other.metric("enroute_connections_accepted_total") - accepted),
            "pauses of accepting": round(other.metric("enroute_accept_pauses_total") - pauses),
            "failed attempts": refused}


def markdown(result):
    rows = [[
        run["kind"], run["resumed"], run["gateway CPU µs per reconnect"], run["Redis CPU µs per reconnect"],
        run["median live after s"], run["all live after s"], f"{run['attempt ms']['p50']} / {run['attempt ms']['p99']}",
        sum(run["failed attempts"].values()), run["pauses of accepting"]] for run in result["runs"]]
    heads = [
        "", "resumed", "gateway: CPU µs per reconnect", "Redis: CPU µs", "half are live after s", "all are live after s",
        "attempt ms: p50 / p99", "failed attempts", "pauses of accepting"]
    return f"""# A storm of reconnects, {result['date']}

`make -C benchmarks storm` with {result['clients']} clients at commit {result['commit']}, on {result['machine']}.
Everything shares these cores: two gateways with one event loop each, one Redis, and {result['processes']} client
processes. Each client follows a job of its own. SIGKILL ends one gateway, on which all clients are; each client waits a
random time of up to 3 s, as `enroute.js` does, and connects to the other gateway, which has shipped limits and the same
ticket key (TLS 1.3, ECDSA P-256).

{table(heads, rows)}

*CPU* is the process's own, from the kill until the last client follows its job again, and contains its idle time.
*Attempt* is the time from a client's last `connect` to its subscription; it includes waiting in the accept queue
(a gateway accepts 1,000 connections a second after a burst of 1,000) and for the client's own process.
"""


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("enroute")
    options.add_argument("--clients", type=int, default=10_000)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--results", help="the folder for storm.md and storm.json; without it, the result is printed")
    options = options.parse_args()
    options.enroute = os.path.abspath(options.enroute)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory() as folder:
        storm = Storm(options, folder)
        runs = [storm.measure(kind, resumes) for kind, resumes in KINDS.items()]
    result = {
        "date": time.strftime("%Y-%m-%d"), "machine": machine(), "commit": commit(FOLDER), "clients": options.clients,
        "processes": options.processes, "runs": runs}
    text = markdown(result)
    print(text)
    if options.results:
        for name, content in (("storm.json", json.dumps(result, indent=1, ensure_ascii=False) + "\n"), ("storm.md", text)):
            with open(f"{options.results}/{name}", "w") as file:
                file.write(content)


if __name__ == "__main__":
    main()
