#!/usr/bin/env python3
"""Fits the coefficients of `enroute size` to results/scaling.json and writes them as Swift. The point `check` is not
used for the fit; the error there is written beside the coefficients. Only Python's standard library.

    fit.py [--results FOLDER]     writes Sources/enroute/Sizing/MeasuredCoefficients.swift
    fit.py --check                fails if that file differs from the results
"""
import argparse, itertools, os, statistics, sys
from measured import FOLDER
from scaling import load

SWIFT = os.path.normpath(f"{FOLDER}/../Sources/enroute/Sizing/MeasuredCoefficients.swift")
CHECK = "check"
# More than there are coefficients.
LEAST_POINTS = 10


def solve(rows, values):
    """Returns the solution of the normal equations, by Gaussian elimination with pivoting; None if there is more than one."""
    size = len(rows[0])
    # Columns of similar size: what is left of a pivot then says whether the points determine its coefficient.
    scales = [max(abs(row[column]) for row in rows) or 1 for column in range(size)]
    rows = [[value / scale for value, scale in zip(row, scales)] for row in rows]
    system = [[sum(row[i] * row[j] for row in rows) for j in range(size)] + [sum(row[i] * y for row, y in zip(rows, values))]
              for i in range(size)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(system[row][column]))
        if abs(system[pivot][column]) < 1e-9:
            return None
        system[column], system[pivot] = system[pivot], system[column]
        for row in range(size):
            if row != column:
                factor = system[row][column] / system[column][column]
                system[row] = [a - factor * b for a, b in zip(system[row], system[column])]
    return [system[row][size] / system[row][row] / scales[row] for row in range(size)]


def fit(points, features, value):
    """Least squares of relative errors, with coefficients of at least 0: the best of all choices of columns that have them."""
    rows = [[feature / value(point) for feature in features(point)] for point in points]
    size, best = len(rows[0]), None
    for count in range(1, size + 1):
        for chosen in itertools.combinations(range(size), count):
            found = solve([[row[column] for column in chosen] for row in rows], [1.0] * len(rows))
            if found is None or min(found) < 0:
                continue
            whole = [found[chosen.index(column)] if column in chosen else 0.0 for column in range(size)]
            wrong = sum((sum(a * b for a, b in zip(whole, row)) - 1) ** 2 for row in rows)
            if best is None or wrong < best[0]:
                best = wrong, whole
    return best[1]


def locations(point):
    """Returns locations a second."""
    return point["riders"] * point["jobs"] / point["interval"]


def redis_features(point):
    return [1, point["riders"] / point["interval"], locations(point), point["riders"]]


def gateway_features(point):
    """In the order of the members of SizingCoefficients."""
    jobs = point["riders"] * point["jobs"]
    followed = jobs if point["followers"] else 0
    return [1, point["riders"] / point["interval"], locations(point), locations(point) * point["followers"], point["riders"],
            followed, jobs * point["followers"]]


def memory_features(point):
    return [1, point["connections"]]


def gateway_us(point):
    return point["gateway_us"] * locations(point)


def redis_us(point):
    return point["redis_us"] * locations(point)


def memory_kb(point):
    return point["resident_kb"]


def error(coefficients, features, value, point):
    """Returns how far the model is from a point, in %."""
    return (sum(a * b for a, b in zip(coefficients, features(point))) / value(point) - 1) * 100


def coefficients(record):
    points = record["points"]
    fitted = [point for name, point in points.items() if name != CHECK and point["loops"] == 1 and point["masters"] == 1]
    if CHECK not in points or len(fitted) < LEAST_POINTS:
        sys.exit(f"fit.py: measure `check` and at least {LEAST_POINTS} points with one loop and one master")
    gateway = fit(fitted, gateway_features, gateway_us)
    redis = fit(fitted, redis_features, redis_us)
    memory = fit(fitted, memory_features, memory_kb)
    check = points[CHECK]

    def ratio(name, figure):
        return points[name][figure] / points["base"][figure] if name in points and "base" in points else 1.0

    newest = max(points.values(), key=lambda point: point["date"])
    return dict(
        gatewayIdle=gateway[0], perReport=gateway[1], perLocation=gateway[2], perDelivery=gateway[3], perRider=gateway[4],
        perFollowedJob=gateway[5], perFollower=gateway[6], severalLoops=ratio("loops-2", "gateway_us"), redisIdle=redis[0],
        redisPerReport=redis[1], redisPerLocation=redis[2], redisPerRider=redis[3], cluster=ratio("masters-3", "redis_us"),
        gatewayKB=memory[0], perConnectionKB=memory[1],
        perNewConnection=statistics.median(point["opening_us"] for point in fitted if point["opening_us"]),
        gatewayError=error(gateway, gateway_features, gateway_us, check), redisError=error(redis, redis_features, redis_us, check),
        memoryError=error(memory, memory_features, memory_kb, check)), newest


def swift(record):
    found, newest = coefficients(record)
    machine = newest["machine"]
    where = f"{newest['date'][:10]}, commit {newest['commit']}, {machine['model']}, {machine['cores']} cores"
    members = "\n".join(f"        {name}: {value:.2f}," for name, value in found.items())
    return (
        "// Written by benchmarks/fit.py from benchmarks/results/scaling.json; do not edit. `make -C benchmarks scaling` measures\n"
        "// again.\n\nextension SizingCoefficients {\n    static let measured = SizingCoefficients(\n"
        f"{members}\n        provenance: \"{where}\")\n}}\n")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--results", default=f"{FOLDER}/results")
    options.add_argument("--check", action="store_true")
    options = options.parse_args()
    wanted = swift(load(options.results))
    if options.check:
        with open(SWIFT) as file:
            if file.read() != wanted:
                sys.exit("MeasuredCoefficients.swift is not what benchmarks/results/scaling.json gives: run benchmarks/fit.py")
        return
    with open(SWIFT, "w") as file:
        file.write(wanted)
    print(wanted, end="")


if __name__ == "__main__":
    main()
