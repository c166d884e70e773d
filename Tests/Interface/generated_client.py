#!/usr/bin/env python3
"""Uses a client generated from /openapi.json by openapi-python-client: it must be complete, importable, and able to talk to the
gateway (found.md B9). Run it with the Python of the environment that contains the generator.

    generated_client.py URL DOCUMENT FOLDER      SERVICE_TOKEN in the environment
"""
import os, pathlib, subprocess, sys, uuid

# Operations that the generator omits because it does not support images.
LEFT_OUT = ["GET /assets/tiles/{z}/{x}/{y}"]


def generate(document, folder):
    done = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", "generate", "--path", document, "--output-path", f"{folder}/generated",
         "--meta", "none"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"no client was generated:\n{done.stdout}")
    for line in done.stdout.splitlines():
        if line.startswith(("WARNING", "ERROR")) and not any(operation in line for operation in LEFT_OUT):
            sys.exit(f"the generated client is incomplete:\n{done.stdout}")
    sys.path.insert(0, folder)


def use(url):
    from generated.api.access import create_link
    from generated.api.jobs import assign_job, change_status, create_job, read_job
    from generated.client import AuthenticatedClient
    from generated.models import (
        Coordinate, JobKind, JobStatus, Link, LinkRequest, NewJob, Parties, Problem, RiderAssignment, Snapshot, StatusChange, StatusEvent,
        Vendor)

    client = AuthenticatedClient(base_url=url, token=os.environ["SERVICE_TOKEN"])
    job = f"generated-{uuid.uuid4()}"
    new = NewJob(
        job=job, kind=JobKind.DELIVERY, customer="anna", destination=Coordinate(lat=41.9, lon=12.5),
        vendor=Vendor(lat=41.8, lon=12.4, name="Da Gino"))
    made = create_job.sync(client=client, body=new, idempotency_key=str(uuid.uuid4()))
    assert isinstance(made, Snapshot) and made.status == JobStatus.PENDING_VENDOR_ACCEPTANCE, made
    again = create_job.sync(client=client, body=new)
    assert isinstance(again, Problem) and again.code == "conflict", again
    assigned = assign_job.sync(job, client=client, body=RiderAssignment(rider="rider-of-a-generated-client"))
    assert isinstance(assigned, Parties) and assigned.rider == "rider-of-a-generated-client", assigned
    status = change_status.sync(job, client=client, body=StatusChange(status=JobStatus.ACCEPTED))
    assert isinstance(status, StatusEvent) and status.status == JobStatus.ACCEPTED, status
    key = str(uuid.uuid4())
    links = [create_link.sync(job, client=client, body=LinkRequest(viewers=2), idempotency_key=key) for _ in range(2)]
    assert isinstance(links[0], Link) and links[0].link == links[1].link, links
    read = read_job.sync(job, client=client)
    assert isinstance(read, Snapshot) and read.destination == Coordinate(lat=41.9, lon=12.5), read


def main():
    url, document, folder = sys.argv[1:]
    generate(str(pathlib.Path(document).resolve()), str(pathlib.Path(folder).resolve()))
    use(url)
    print("a generated client creates, reads and updates a job")


if __name__ == "__main__":
    main()
