"""The result as Markdown: results/fleet.md."""
import os, platform, subprocess, time

from measure import WINDOWS

SATURATED = 0.9
TITLES = dict(
    kill="a gateway is killed", drain="a gateway is drained", freeze="a gateway is frozen", master="a Redis master fails",
    slots="slots migrate", rolling="rolling deploy")


def machine():
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} cores ({model}), Linux {platform.release()}"


def commit(folder):
    def git(*words):
        done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""
    changed = git("status", "--porcelain", "--untracked-files=no")
    return (git("rev-parse", "--short=8", "HEAD") or "unknown") + (" with uncommitted changes" if changed else "")


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join("–" if cell is None else str(cell) for cell in row) + " |" for row in rows])


def markdown(result):
    phases, setup = result["phases"], result["setup"]
    verdicts = result["statuses"]["by phase"]

    def title(phase):
        return TITLES[phase["phase"]]

    live = []
    for phase in phases:
        people, lost = phase["followers"], phase["disconnects"]
        live.append([
            title(phase), f"{lost['followers']} + {lost['riders']}", people["affected"], people["median"], people["p99"],
            people["max"], phase["riders"]["max"], phase["all live after"],
            f"{phase['reconnects per client']['mean']} / {phase['reconnects per client']['max']}",
            sum(phase["refused"].values())])
    right = []
    for phase in phases:
        counts = verdicts.get(phase["phase"], {})
        right.append([
            title(phase), counts.get("lost", 0), counts.get("duplicated", 0), counts.get("reordered", 0),
            counts.get("replaced", 0), counts.get("withdrawn", 0), phase["backwards"]["location"], phase["backwards"]["reset"]])
    late = []
    for phase in phases:
        cells = [title(phase)]
        for kind in ("location", "status"):
            for window in WINDOWS:
                figures = phase["latency ms"][f"{kind} {window}"]
                cells.append(f"{figures['p50']} / {figures['p99']}" if figures["count"] else None)
        late.append([*cells, phase["generator late ms"]["during"]])
    cpu = []
    for phase in phases:
        for window in ("before", "during"):
            cores = phase["cpu"][window]
            cpu.append([
                title(phase), window, *(cores[group] for group in ("gateways", "haproxy", "redis", "clients", "orders")),
                f"{100 * cores['machine']:.0f} %"])
    total = result["statuses"]
    parts = [
        f"# A fleet in trouble, {result['date']}",
        f"`make -C benchmarks fleet` with {setup['followers']} followers and {setup['riders']} riders at commit "
        f"{result['commit']}, on {result['machine']}. Everything shares these cores: "
        f"{setup['gateways']} gateways with {setup['loops']} event loop each, {setup['balancers']} HAProxy with "
        f"`deploy/haproxy/layer7.cfg` ({'with' if setup['tls'] else 'without'} TLS; a process may have only "
        f"{setup['descriptors']} descriptors, two for each client), "
        f"{setup['redis']}, {setup['processes']} client processes and the order system. {setup['followers']} followers and "
        f"{setup['riders']} riders: {setup['travelling']} riders report every {setup['interval']:.0f} s, and the other "
        f"{setup['waiting']} jobs change their status, {setup['rate']:.0f} a second in all. Each follower follows one job, "
        "so a location and a status each reach about three followers.",
        "## Who was interrupted, and for how long",
        "A client is interrupted from the loss of its connection to its subscription on the next one (from the last message, if "
        "it gave up a silent connection), from `degraded` to `restored`, and while a message is more than a second late. "
        "*Disconnects*: followers + riders. *Interrupted*: how many followers, and the median, 99th percentile and maximum of the "
        "longest interruption of each, in seconds; then the maximum of the riders. *All live* is the time from the start of the "
        "fault until the last client was live, which includes the fault's own length. *Reconnects*: mean / maximum of the "
        "clients that were interrupted. *Refused*: attempts to connect.",
        table(["phase", "disconnects", "interrupted", "median", "p99", "max", "riders", "all live", "reconnects", "refused"],
              live),
        "## What followers received",
        f"{total['events']} statuses were written and {total['expected']} had to be delivered; verified one by one against "
        f"the job logs in Redis afterwards. Of {total['sent']} changes by REST, {total['retries']} attempts were repeated, "
        f"{total['unconfirmed']} answered 202, {total['failed']} failed, and {total['vanished']} were answered and then lost by "
        "Redis. *In a reset*: not received one by one, because a `reset` contained the state after them, as the protocol says.",
        table(["phase", "lost", "duplicated", "reordered", "in a reset", "withdrawn by Redis", "positions back",
               "by a reset"], right),
        "## Delivery latency",
        "Milliseconds, p50 / p99, before, during and after: from the scheduled time of a report or a status change to its "
        "receipt at each follower, over the riders' sockets or REST, both through HAProxy. Statuses that a follower received in "
        "a snapshot after it reconnected are not included. The last column is the longest delay of a client process itself, "
        f"which latencies include; the order system was up to {total['late ms']} ms late.",
        table(["phase", *(f"{kind} {window}" for kind in ("location", "status") for window in WINDOWS), "generator late"], late),
        "## CPU",
        f"Cores in use. {saturation(phases)}",
        table(["phase", "", "gateways", "HAProxy", "Redis", "clients", "order system", "machine busy"], cpu),
        "## What was done", *(f"- **{title(phase)}**: {phase['what']}. Reasons of disconnects: {reasons(phase)}." for phase in phases),
    ]
    if result["stopped"]:
        parts.append(f"**The run ended early**: {result['stopped']}.")
    if total["between"]:
        parts.append(f"Statuses outside of the phases: {total['between']}.")
    text = "\n\n".join(parts).replace("\n\n- **", "\n- **").replace("## What was done\n-", "## What was done\n\n-")
    return wrapped(text) + "\n"


def saturation(phases):
    """Reports in which windows all cores were busy, so that latencies include waiting for the CPU."""
    full = [
        f"{TITLES[phase['phase']]} ({window})" for phase in phases for window in ("before", "during")
        if phase["cpu"][window]["machine"] >= SATURATED]
    others = max(
        (phase["cpu"][window]["machine"] * os.cpu_count() - sum(
            cores for group, cores in phase["cpu"][window].items() if group != "machine")
         for phase in phases for window in ("before", "during")), default=0)
    return (f"The machine was saturated ({100 * SATURATED:.0f} % busy or more) in: {', '.join(full) or 'no window'}. Other "
            f"processes, the kernel's own work included, used up to {max(0.0, others):.1f} cores.")


def reasons(phase):
    found = phase["disconnects"]["reasons"] | {f"(error) {why}": number for why, number in phase["errors"].items()}
    found |= {f"(refused) {why}": number for why, number in phase["refused"].items()}
    return ", ".join(f"{why} {number}" for why, number in sorted(found.items())) or "none"


def wrapped(text, width=118):
    """Breaks long lines, except those of tables."""
    lines = []
    for line in text.split("\n"):
        indent = "  " if line.startswith("- ") else ""
        while len(line) > width and not line.startswith("|"):
            cut = line.rfind(" ", 0, width)
            lines.append(line[:cut])
            line = indent + line[cut + 1:]
        lines.append(line)
    return "\n".join(lines)


def date():
    return time.strftime("%Y-%m-%d")
