#!/usr/bin/env python3
"""A fleet in trouble: three gateways behind HAProxy on a Redis Cluster, followers and riders in several processes, and then a
gateway is killed, drained and frozen, a master fails, slots migrate, and all gateways are deployed one after the other. It
checks that nobody misses a status, and measures how long everybody is interrupted. Only Python's standard library.

    fleet.py ENROUTE [--followers 9000] [--riders 3000] [--phases kill,drain,freeze,master,slots,rolling]
"""
import argparse, json, os, resource, shutil, sys, tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))

import report
from experiment import Fleet, SABOTAGE
from faults import FAULTS, NEED_A_CLUSTER
from servers import Failed


def violations(result):
    """Everything that happened although it must not, as sentences."""
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
    options.add_argument("--riders", type=int, default=3000, help="and as many jobs; a third of them wait")
    options.add_argument("--phases", type=lambda text: text.split(","), default=list(FAULTS))
    options.add_argument("--interval", type=float, default=8, help="s between two reports of a rider")
    options.add_argument("--rate", type=float, default=100, help="status changes a second")
    options.add_argument("--processes", type=int, default=4, help="number of client processes")
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
