"""Where and when figures were measured: the part that all result files share."""
import datetime, os, platform, subprocess

FOLDER = os.path.dirname(os.path.abspath(__file__))


def commit():
    """Returns the commit of this folder, and whether files differ from it."""
    def git(*words):
        return subprocess.run(["git", "-C", FOLDER, *words], capture_output=True, text=True).stdout.strip()
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + (
        ", with changes" if git("status", "--porcelain", "--untracked-files=no") else "")


def machine():
    with open("/proc/cpuinfo") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return dict(cores=len(os.sched_getaffinity(0)), model=models[0] if models else "unknown", kernel=platform.release())


def provenance():
    return dict(
        date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), machine=machine(), commit=commit())


def summary(record):
    """Returns a record's provenance as a sentence without its full stop."""
    found = record["machine"]
    return (f"{record['date'][:10]}, {found['model']}, {found['cores']} cores, Linux {found['kernel']}; "
            f"commit {record['commit']}")


def figures(report):
    """Returns the figures of a scene, from a report of enroute-load."""
    cpu = {entry["name"]: entry for entry in report["cpu"]}
    latency, redis = report.get("latency") or {}, report.get("redis") or {}
    found = dict(
        gateway_us=cpu["gateway"]["total"], gateway_core_percent=cpu["gateway"]["corePercent"], redis_us=cpu["redis"]["total"],
        redis_core_percent=cpu["redis"]["corePercent"], generator_core_percent=cpu["generator"]["corePercent"],
        others_core_percent=cpu["others"]["corePercent"], scripts=redis.get("scriptsPerLocation"),
        commands=redis.get("commandsPerLocation"), missing=report["messages"]["missing"],
        kb_per_connection=report["memory"]["residentKBPerConnection"], resident_kb=report["memory"]["after"]["residentKB"],
        opening_us=(report.get("opening") or {}).get("cpu"))
    if latency.get("count"):
        found |= {f"{name}_ms": latency[name] for name in ("p50", "p95", "p99", "p999", "max")}
    return found
