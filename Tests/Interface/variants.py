#!/usr/bin/env python3
"""Writes variants of openapi.json in a folder, for runs that would otherwise send the same refused request again and again.

    variants.py FOLDER

without-keys.json has no Idempotency-Key: with a fixed key all but the first request would conflict (422).
known-jobs.json names existing jobs and riders in paths, because a random id is nearly always unknown (404). Use it for valid
requests only: the gateway accepts other ids too.
"""
import copy, json, pathlib, sys

KNOWN = {"job": ["visit-1", "visit-2", "visit-3", "visit-4", "unknown"], "rider": ["rider-1", "rider-9", "unknown"]}
# The stream of a job that has ended ends, too.
ENDED = {"name": "job", "in": "path", "required": True, "schema": {"type": "string", "enum": ["visit-4", "unknown"]}}
METHODS = {"get", "post", "put", "patch", "delete"}


def without_keys(document):
    for path in document["paths"].values():
        for name, operation in path.items():
            if name in METHODS and "parameters" in operation:
                operation["parameters"] = [p for p in operation["parameters"] if "IdempotencyKey" not in p.get("$ref", "")]
    return document


def known_jobs(document):
    for name, values in KNOWN.items():
        for parameter in document["components"]["parameters"].values():
            if parameter["in"] == "path" and parameter["name"] == name:
                parameter["schema"] = {"type": "string", "enum": values}
    stream = document["paths"]["/api/v1/jobs/{job}/events"]
    stream["parameters"] = [ENDED] + [p for p in stream["parameters"] if not p["$ref"].endswith("/Job")]
    return document


def main():
    folder = pathlib.Path(sys.argv[1])
    document = json.loads((folder / "openapi.json").read_text())
    for name, variant in [("without-keys", without_keys), ("known-jobs", known_jobs)]:
        (folder / f"{name}.json").write_text(json.dumps(variant(copy.deepcopy(document))))


if __name__ == "__main__":
    main()
