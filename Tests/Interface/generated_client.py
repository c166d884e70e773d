#!/usr/bin/env python3
"""Uses a client generated from /openapi.json by openapi-python-client: it must be complete, importable, and able to talk to the
gateway (found.md B9). Run it with the Python of the environment that contains the generator.

    generated_client.py URL DOCUMENT FOLDER      SERVICE_TOKEN, RIDER_TOKEN (of rider-1) and OPS_TOKEN in the environment
"""
import os, pathlib, subprocess, sys, time, uuid

# Operations that the generator omits because it does not support images.
LEFT_OUT = ["GET /assets/tiles/{z}/{x}/{y}", "GET /favicon.ico"]


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


def client_of(role, url):
    from generated.client import AuthenticatedClient

    return AuthenticatedClient(base_url=url, token=os.environ[f"{role}_TOKEN"])


def order(url):
    """An order system's requests about jobs."""
    from generated.api.access import create_link, revoke_link
    from generated.api.jobs import assign_job, change_status, create_job, read_job, read_status_log
    from generated.models import (
        Coordinate, JobKind, JobStatus, Link, LinkRequest, NewJob, Parties, Problem, RiderAssignment, Snapshot, StatusChange, StatusEvent,
        StatusLog, Vendor)

    client, job = client_of("SERVICE", url), f"generated-{uuid.uuid4()}"
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
    assert revoke_link.sync_detailed(links[0].id, client=client).status_code in (202, 204)
    read = read_job.sync(job, client=client)
    assert isinstance(read, Snapshot) and read.destination == Coordinate(lat=41.9, lon=12.5), read
    log = read_status_log.sync(job, client=client)
    assert isinstance(log, StatusLog) and [event.status for event in log.events][-1] == JobStatus.ACCEPTED, log


def ride(url):
    """A rider's phone, and the operations view of it."""
    from generated.api.jobs import change_status, create_job, read_job
    from generated.api.operations import read_zone_jobs
    from generated.api.positions import report_locations, start_travel, stop_travel
    from generated.api.riders import declare_status, read_me, read_rider
    from generated.models import (
        Declaration, DeclarationStatus, Fix, JobKind, JobRows, JobStatus, Location, LocationBatch, LocationIntake, NewJob, Rider, Snapshot,
        StatusChange, StatusEvent, TravelMode)

    service, rider, job = client_of("SERVICE", url), client_of("RIDER", url), f"generated-{uuid.uuid4()}"
    online = declare_status.sync(client=rider, body=Declaration(status=DeclarationStatus.ONLINE))
    assert isinstance(online, Rider) and online.status == "online", online
    made = create_job.sync(
        client=service, body=NewJob(job=job, kind=JobKind.SERVICE, customer="anna", rider="rider-1", zone="rome"))
    assert isinstance(made, Snapshot), made
    me, seen = read_me.sync(client=rider), read_rider.sync("rider-1", client=service)
    assert isinstance(me, Rider) and job in [task.job for task in me.tasks] and seen == me, (me, seen)
    left = change_status.sync(job, client=rider, body=StatusChange(status=JobStatus.ON_THE_WAY))
    assert isinstance(left, StatusEvent), left
    travel = start_travel.sync(job, client=rider)
    assert isinstance(travel, TravelMode) and travel.active, travel
    fix = Fix(at=int(time.time() * 1000), lat=41.91, lon=12.49, acc=5)
    intake = report_locations.sync(job, client=rider, body=LocationBatch(fixes=[fix]))
    assert isinstance(intake, LocationIntake) and intake.accepted == [job], intake
    read = read_job.sync(job, client=service)
    assert isinstance(read, Snapshot) and isinstance(read.position, Location) and read.position.lat == 41.91, read
    rows = read_zone_jobs.sync("rome", client=client_of("OPS", url))
    assert isinstance(rows, JobRows) and rows.jobs is not None, rows
    stopped = stop_travel.sync(job, client=rider)
    assert isinstance(stopped, TravelMode) and not stopped.active, stopped
    done = change_status.sync(job, client=service, body=StatusChange(status=JobStatus.CANCELLED))
    assert isinstance(done, StatusEvent), done


def main():
    url, document, folder = sys.argv[1:]
    generate(str(pathlib.Path(document).resolve()), str(pathlib.Path(folder).resolve()))
    order(url)
    ride(url)
    print("a generated client works for the order system, the rider and operations")


if __name__ == "__main__":
    main()
