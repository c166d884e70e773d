"""The procedures of deploy/RUNBOOK.md and deploy/redis/README.md for Redis, on a running installation with a rider and a
follower."""

import contextlib
import re
import subprocess
from pathlib import Path

import pytest

from faults import Stage
from installation import Installation, Server
from monitoring import free_port
from order_system import OrderSystem, Refused
from processes import Process
from runbook import Trip, block, monitoring, stage  # noqa: F401
from stage import ROOT


def test_losing_the_live_redis_disconnects_nobody(stage):
    installation = Installation(stage)
    trip = Trip(stage, installation)
    live = installation.servers["live"]
    live.process.kill()
    installation.run(block("Losing the live Redis"), UNIT=live.name)
    trip.has_stayed()
    trip.orders.ask("GET", f"jobs/{trip.visit.name}")


def test_restoring_the_ledger_brings_back_the_jobs_of_the_backup(stage):
    installation = Installation(stage)
    trip = Trip(stage, installation)
    ledger = installation.servers["ledger"]
    backup = stage.folder / "backup"
    backup.mkdir()
    before = trip.orders.visit("on_the_way")
    assert "All AOF files and manifest are valid" in installation.run(
        block("Restoring the ledger"), DATA=str(ledger.data), BACKUP=str(backup))
    after = trip.orders.visit("on_the_way")
    ledger.process.kill()
    for file in (ledger.data / "appendonlydir").glob("*.aof"):
        file.write_bytes(b"a broken disk")
    installation.run(block("Restoring the ledger", 2), DATA=str(ledger.data), BACKUP=str(backup), UNIT=ledger.name)

    def is_back() -> bool:
        with contextlib.suppress(Refused):
            return before.state["status"] == "on_the_way"
        return False

    def is_gone() -> bool:
        try:
            return after.state is None
        except Refused as refused:
            return refused.status == 404

    stage.monitoring.until(is_back, "the job of the backup")
    stage.monitoring.until(is_gone, "the loss of the job after the backup")
    trip.has_stayed()


def test_without_a_backup_the_ledger_is_not_started_on_an_empty_folder(stage):
    installation = Installation(stage, gateways=1)
    ledger = installation.servers["ledger"]
    commands = block("Restoring the ledger", 2).partition("# async_loading")[0]
    pasted = installation.paste(commands, DATA=str(ledger.data), BACKUP=str(stage.folder / "none"), UNIT=ledger.name)
    assert "cannot stat" in pasted.output and not ledger.process.is_running
    assert (ledger.data / "appendonlydir.broken").exists()


def test_the_wait_for_a_ledger_ends_when_it_has_loaded_every_key(stage):
    installation = Installation(stage, gateways=1)
    ledger, keys = installation.servers["ledger"], 5_000
    ledger.says("EVAL", f"for key = 1, {keys} do redis.call('SET', 'job:' .. key, 'x') end", "0")
    count = ledger.says("DBSIZE")
    ledger.stop()
    # Microseconds for each key: some seconds.
    ledger.options = ["--key-load-delay", "500"]
    ledger.launch()
    ledger.process.wait_until(lambda: "\nloading:1" in ledger.says("INFO", "persistence"), "its loading")
    wait = block("Restoring the ledger", 2).partition("# async_loading")[2].partition("\n")[2]
    assert installation.run(wait).split() == ["loading:0", count]


def test_the_access_lists_are_replaced_while_gateways_run_and_passwords_stay(stage):
    """From lists without some permissions. The new ones are in the files of Redis, too."""
    installation = Installation(stage)
    missing = {"live": ("~job:{*}:push", "+hvals"), "ledger": ("+acl|dryrun",)}
    rules = {role: permissions(server) for role, server in installation.servers.items()}
    for role, server in installation.servers.items():
        removed = [f"-{rule[1:]}" for rule in missing[role] if rule[0] == "+"]
        keys = [rule for rule in rules[role]["enroute"] if rule[0] == "~" and rule not in missing[role]]
        server.says("ACL", "SETUSER", "enroute", "resetkeys", *keys, *removed)
        assert permissions(server)["enroute"] == rules[role]["enroute"] - set(missing[role])
    assert "errors: 0" not in check(installation)
    trip = Trip(stage, installation)
    clients = {role: server.cli("admin") for role, server in installation.servers.items()}
    printed = installation.run(
        guide("# Set LISTS"), LISTS=str(ROOT / "deploy/redis"), LIVE=clients["live"], LEDGER=clients["ledger"])
    assert printed.split() == ["OK"] * 12
    assert "errors: 0" in check(installation)
    trip.has_stayed()
    for role, server in installation.servers.items():
        assert permissions(server) == rules[role]
        server.stop()
        server.start()
        assert permissions(server) == rules[role] and server.says("PING", user="operations") == "PONG"


def check(installation: Installation) -> str:
    return installation.paste('enroute check --config "$CONFIG"').output


def permissions(server: Server) -> dict[str, set[str]]:
    """The rules of each user, without passwords."""
    users = (line.split()[1:] for line in server.says("ACL", "LIST").splitlines())
    return {name: {rule for rule in rules if rule[0] != "#"} for name, *rules in users}


def replicated(stage: Stage, password: str) -> tuple[Server, Server, list[str]]:
    """A ledger and its replica, and the options with which each of them follows the other."""
    master, replica = (Server(stage.folder, "ledger", password, name=name) for name in (None, "replica"))
    for server in (master, replica):
        stage.callback(server.stop)
    account = ["--masteruser", "replica", "--masterauth", password]
    replica.options = ["--replicaof", "127.0.0.1", str(master.port), *account]
    for name, value in (("masteruser", "replica"), ("masterauth", password)):
        master.says("CONFIG", "SET", name, value)
        replica.says("CONFIG", "SET", name, value)
    replica.says("REPLICAOF", "127.0.0.1", str(master.port))
    return master, replica, account


def guide(start: str) -> str:
    """The block of deploy/redis/README.md that starts with this text."""
    return re.search(rf"(?ms)^```sh\n({start}.*?)^```", (ROOT / "deploy/redis/README.md").read_text())[1]


class Sentinel:
    """One Sentinel with the shipped configuration, which monitors a ledger."""

    def __init__(self, folder: Path, number: int, master: Server):
        self.name, self.port = f"redis-sentinel-{number}", free_port()
        self._log, self._config = folder / f"{self.name}.log", folder / f"{self.name}.conf"
        lines = (ROOT / "deploy/redis/sentinel.conf").read_text()
        lines = re.sub(r"(?m)^sentinel .*enroute-live.*\n", "", lines).replace("port 26379", f"port {self.port}")
        lines = lines.replace("enroute-ledger 127.0.0.1 6380", f"enroute-ledger 127.0.0.1 {master.port}")
        # Each failover of the shipped file takes 5 s longer.
        lines = re.sub(r"(down-after-milliseconds \S+) 5000", r"\1 1000", lines)
        lines = re.sub(r"(?m)^#   (sentinel auth-\S+ enroute-ledger)", r"\1", lines).replace("THE-PASSWORD", master.password)
        self._config.write_text(lines)
        self.start()

    def start(self) -> None:
        self.process = Process(self.name, ["redis-server", str(self._config), "--sentinel"], self._log)
        self.process.wait_until(lambda: self.says("PING") == "PONG", "its answer to PING")

    def stop(self) -> None:
        self.process.end()

    def cli(self, user: str = "") -> str:
        """Sentinels have no users."""
        return f"redis-cli -h 127.0.0.1 -p {self.port}"

    def says(self, *command: str) -> str:
        return subprocess.run([*self.cli().split(), *command], capture_output=True, text=True).stdout.strip()


def test_a_restored_ledger_stays_the_master_when_its_replica_and_the_sentinels_start_again(stage):
    """The copy takes longer than the Sentinels wait for a master that does not answer."""
    password = "p" * 32
    master, replica, account = replicated(stage, password)
    sentinels = [Sentinel(stage.folder, number, master) for number in (1, 2, 3)]
    for sentinel in sentinels:
        stage.callback(sentinel.stop)
    for sentinel in sentinels:
        sentinel.process.wait_until(
            lambda: "slaves=1,sentinels=3" in sentinel.says("INFO", "sentinel"), "the replica and the other Sentinels")
    nodes = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in sentinels)
    installation = Installation(
        stage, gateways=1, redis={"ledger": f"redis+sentinel://enroute:{password}@{nodes}/enroute-ledger"})
    installation.servers |= {server.name: server for server in (master, replica, *sentinels)}
    orders = OrderSystem(installation.site)
    before = orders.visit("on_the_way")
    (backup := stage.folder / "backup").mkdir()
    clients = {"LEDGER": master.cli("operations"), "SENTINEL": sentinels[0].cli()}
    installation.run(block("Restoring the ledger"), DATA=str(master.data), BACKUP=str(backup), **clients)
    after = orders.visit("on_the_way")

    units = {"SENTINEL_UNIT": "redis-sentinel-*", "REPLICA_UNIT": replica.name}
    stopped = installation.run(block("Restoring the ledger", 1), **clients, **units)
    assert stopped.split() == ["127.0.0.1", str(master.port)]
    # After a restart a replica follows the master of its configuration.
    replica.options = ["--replicaof", "127.0.0.1", str(master.port), *account]
    slow = block("Restoring the ledger", 2).replace("cp -a", "sleep 4 && cp -a")
    keys = installation.run(
        slow, DATA=str(master.data), BACKUP=str(backup), UNIT=master.name, **clients).split()[-1]
    started = installation.run(block("Restoring the ledger", 3), **clients, **units).split()
    assert started[-1] == keys and "master" in started, started
    assert replica.says("DBSIZE") == keys and "role:slave" in replica.says("INFO", "replication")

    def answers(visit, expected) -> bool:
        with contextlib.suppress(Refused):
            return visit.state["status"] == expected
        return False

    stage.monitoring.until(lambda: answers(before, "on_the_way"), "the job of the backup")
    with pytest.raises(Refused, match="404"):
        after.state


def test_a_planned_failover_with_a_replica_that_lags_changes_nothing(stage):
    master, replica, _ = replicated(stage, "p" * 32)
    stage.monitoring.until(lambda: "master_link_status:up" in replica.says("INFO", "replication"), "the replica")
    stage.monitoring.until(lambda: "state=online" in master.says("INFO", "replication"), "the master's replica")
    installation = Installation(stage, gateways=1, redis={"ledger": master.url("enroute")})
    replica.process.freeze()
    master.says("SET", "job:1", "x")
    printed = installation.run(guide("# Set MASTER"), MASTER=master.cli("admin"), SENTINEL="echo asked:")
    assert "a replica lags; nothing was changed" in printed and "asked:" not in printed
    assert master.says("SET", "job:1", "y") == "OK", "writes are no longer paused"


@pytest.mark.long
def test_redis_is_upgraded_without_losing_a_client_or_a_status(stage):
    """A ledger with a replica and one Sentinel: the replica restarts, is promoted, and then the old master restarts."""
    password = "p" * 32
    master, replica, account = replicated(stage, password)
    port = free_port()
    (config := stage.folder / "sentinel.conf").write_text(
        f"port {port}\nsentinel monitor enroute-ledger 127.0.0.1 {master.port} 1\n"
        f"sentinel auth-user enroute-ledger sentinel\nsentinel auth-pass enroute-ledger {password}\n"
        "sentinel down-after-milliseconds enroute-ledger 5000\n")
    sentinel = Process("sentinel", ["redis-server", str(config), "--sentinel"], stage.folder / "sentinel.log")
    stage.callback(sentinel.end)
    ask = ["redis-cli", "-p", str(port)]
    sentinel.wait_until(lambda: "flags=slave" in subprocess.run(
        [*ask, "INFO", "sentinel"], capture_output=True, text=True).stdout or "slaves=1" in subprocess.run(
        [*ask, "INFO", "sentinel"], capture_output=True, text=True).stdout, "the replica")
    installation = Installation(
        stage, redis={"ledger": f"redis+sentinel://enroute:{password}@127.0.0.1:{port}/enroute-ledger"})
    for server in (master, replica):
        installation.servers[server.data.name] = server
    trip = Trip(stage, installation)
    upgrade = block("Redis upgrade")
    installation.run(upgrade, UNIT=replica.name, REPLICA=replica.cli("admin"))
    trip.has_stayed()
    installation.run(guide("# Set MASTER"), MASTER=master.cli("admin"), SENTINEL=" ".join(ask))
    stage.monitoring.until(lambda: "role:master" in replica.says("INFO", "replication"), "the promotion")
    stage.monitoring.until(lambda: "role:slave" in master.says("INFO", "replication"), "the old master's demotion")
    master.options = ["--replicaof", "127.0.0.1", str(replica.port), *account]
    installation.run(upgrade, UNIT=master.name, REPLICA=master.cli("admin"))

    def is_written() -> bool:
        with contextlib.suppress(Refused):
            return trip.visit.status("work_in_progress") is not None
        return False

    stage.monitoring.until(is_written, "a status on the new master")
    assert trip.visit.state["status"] == "work_in_progress"
    assert all(follower.socket.is_open for follower in trip.followers)


@pytest.mark.long
def test_a_cluster_is_resharded_while_locations_arrive(stage):
    """Three masters; all slots of one move to another."""
    password = "p" * 32
    nodes = []
    for number in (1, 2, 3):
        node = Server.__new__(Server)
        nodes.append(node)
        Server.__init__(node, stage.folder, "live", password, name=f"node-{number}")
        node.stop()
        node.options = ["--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"]
        node.start()
        stage.callback(node.stop)
    auth = f"--user admin --pass {password} --no-auth-warning"
    subprocess.run(
        ["redis-cli", *auth.split(), "--cluster", "create", *(f"127.0.0.1:{node.port}" for node in nodes), "--cluster-yes"],
        check=True, capture_output=True)
    seeds = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    installation = Installation(stage, redis={"live": f"redis+cluster://enroute:{password}@{seeds}"})
    trip = Trip(stage, installation)
    installation.run(
        block("Resharding a cluster"), NODE=f"127.0.0.1:{nodes[0].port}", FROM=nodes[0].says("CLUSTER", "MYID"),
        TO=nodes[1].says("CLUSTER", "MYID"), SLOTS="5461", AUTH=auth)
    trip.has_stayed()
