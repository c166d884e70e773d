"""Faults of gateways: processes that end, start again, run out of something or are of another version."""

import threading

from faults import Stage, fault
from monitoring import free_port
from order_system import OrderSystem
from processes import Process
from stage import Site, enroute
from websocket import WebSocket


@fault("EnrouteGatewayDown", "EnrouteNoGatewayReady", "EnrouteGatewayRestarts")
def gateways_crash(stage: Stage) -> None:
    """SIGKILL of one gateway, then of both; then one gateway that ends again and again."""
    site = stage.site(gateways=2)
    one, other = (gateway.process for gateway in site.gateways)
    one.kill()
    stage.fires("EnrouteGatewayDown")
    assert "EnrouteNoGatewayReady" not in stage.monitoring.firing(stage.job), "the other gateway is ready"
    other.kill()
    stage.fires("EnrouteNoGatewayReady")
    stage.notifies_only("EnrouteNoGatewayReady")
    for gateway in site.gateways:
        gateway.start()
    stage.clears("EnrouteNoGatewayReady", "EnrouteGatewayDown")
    gateway, expression = site.gateways[0], f'process_start_time_seconds{{job="{stage.job}"}}'
    for _ in range(3):
        before = stage.monitoring.query(expression)
        gateway.process.kill()
        gateway.start()
        stage.monitoring.until(lambda: stage.monitoring.query(expression) != before, "a scrape of the new process")
    stage.fires("EnrouteGatewayRestarts")
    stage.clears("EnrouteGatewayRestarts")


@fault("EnrouteGatewayNotReady")
def one_gateway_does_not_reach_redis(stage: Stage) -> None:
    """A gateway whose Redis does not run yet, beside one that has a Redis."""
    site, socket, management = stage.site(), stage.folder / "late.sock", free_port()
    gateway = Process("gateway-2", [str(enroute()), "serve", "--port", "0"], stage.folder / "gateway-2.log",
                      site.environment() | {"ENROUTE_REDIS_LIVE_URL": f"unix:{socket}",
                                            "ENROUTE_MANAGEMENT_PORT": str(management)})
    stage.callback(gateway.end)
    stage.monitoring.scrape(stage.job, site.gateways[0].management, management)
    stage.fires("EnrouteGatewayNotReady")
    stage.redis("late")
    stage.clears("EnrouteGatewayNotReady")


@fault("EnrouteVersionsDiffer")
def one_gateway_has_another_version(stage: Stage) -> None:
    """There is one build here: a relay in front of the second gateway's metrics rewrites its version."""
    site = stage.site(gateways=2)

    def older(_) -> tuple[int, str]:
        text = site.gateways[1].manage("/metrics")[1]
        return 200, text.replace('version="', 'version="0.0.1-')

    relay = stage.service(older)
    stage.monitoring.scrape(stage.job, site.gateways[0].management, relay.server_port)
    stage.fires("EnrouteVersionsDiffer")
    stage.monitoring.watch(stage.job, site)
    stage.clears("EnrouteVersionsDiffer")


@fault("EnrouteSettingsDiffer")
def one_gateway_has_another_retention(stage: Stage) -> None:
    """A gateway with a lower retention, beside one with the default."""
    site, management = stage.site(), free_port()
    gateway = Process("gateway-2", [str(enroute()), "serve", "--port", "0"], stage.folder / "gateway-2.log",
                      site.environment() | {"ENROUTE_JOB_RETENTION_SECONDS": "14400",
                                            "ENROUTE_MANAGEMENT_PORT": str(management)})
    stage.callback(gateway.end)
    stage.monitoring.scrape(stage.job, site.gateways[0].management, management)
    stage.fires("EnrouteSettingsDiffer")
    stage.monitoring.watch(stage.job, site)
    stage.clears("EnrouteSettingsDiffer")


@fault("EnrouteDescriptorsNearLimit", "EnrouteOverloaded")
def descriptors_run_out(stage: Stage) -> None:
    """`ulimit -n 512` and as many connections to one of two gateways."""
    site = stage.site(
        gateways=2, launcher=["prlimit", "--nofile=512:512"], LIMIT_REQUEST_HEAD_SECONDS=60,
        OVERLOAD_DESCRIPTOR_PERCENT=95, EVENT_LOOPS=1)
    opened = stage.sockets(site, 405)
    stage.fires("EnrouteDescriptorsNearLimit")
    opened += stage.sockets(site, 70)
    stage.fires("EnrouteOverloaded")
    stage.notifies_only("EnrouteOverloaded")
    for connection in opened:
        connection.close()
    stage.clears("EnrouteDescriptorsNearLimit", "EnrouteOverloaded")


@fault("EnrouteMemoryNearLimit", "EnrouteSessionsShed")
def memory_runs_out(stage: Stage) -> None:
    """A limit that a gateway almost reaches; and idle sessions on one that exceeds it."""
    site = stage.site(EVENT_LOOPS=1)
    gateway = site.gateways[0]
    used = stage.monitoring.query(f'process_resident_memory_bytes{{job="{stage.job}"}}')[0] / 1_048_576
    site.settings["OVERLOAD_MEMORY_MB"] = int(used / 0.95)
    gateway.process.kill()
    gateway.start()
    stage.fires("EnrouteMemoryNearLimit")
    orders = OrderSystem(site)
    # The sessions become idle after 10 s; until then connections fill the memory.
    idle = [WebSocket(site.url, orders.token("customer", f"anna-{number}")) for number in range(20)]
    for socket in idle:
        stage.callback(socket.cut)
    stage.fires("EnrouteSessionsShed", while_=Filler(stage, site))
    del site.settings["OVERLOAD_MEMORY_MB"]
    gateway.process.kill()
    gateway.start()
    stage.clears("EnrouteMemoryNearLimit", "EnrouteSessionsShed")


class Filler:
    """Opens more connections each time it is called, until the gateway accepts no more."""

    def __init__(self, stage: Stage, site: Site):
        self.stage, self.site, self.count = stage, site, 0

    def __call__(self) -> None:
        if self.count < 4_000 and self.site.gateways[0].manage("/readyz")[0] == 200:
            self.stage.sockets(self.site, 200, b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 4_000)
            self.count += 200


@fault("EnrouteEventLoopLag")
def a_gateway_has_too_little_time(stage: Stage) -> None:
    """SIGSTOP for 130 ms of each 180 ms, as on a machine whose CPU others use."""
    site = stage.site(EVENT_LOOPS=1)
    process, is_over = site.gateways[0].process, threading.Event()

    def pulse() -> None:
        while not is_over.is_set():
            process.freeze()
            is_over.wait(0.13)
            process.thaw()
            is_over.wait(0.05)

    thread = threading.Thread(target=pulse, daemon=True)
    thread.start()
    try:
        stage.fires("EnrouteEventLoopLag")
    finally:
        is_over.set()
        thread.join()
    stage.clears("EnrouteEventLoopLag")
