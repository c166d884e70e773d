// Where the riders of a zone are and where its jobs start and end, from the messages `places`, and the markers that the map
// draws. Pure, so that it runs without a page.

import {isFree, lateness, needOf} from './ops-attention.js';

/** The states of markers, the most urgent first. A state is a shape and a color. */
export const riderStates = ['late', 'silent', 'live', 'available', 'busy', 'online', 'unreachable'];
export const jobStates = ['problem', 'late', 'risk', 'open'];

/** The places of one zone. */
export class PlaceBook {
  #jobs = new Map();
  #riders = new Map();
  isKnown = false;

  get size() { return this.#jobs.size + this.#riders.size; }
  /** @returns the place of a job, or null */
  job(job) { return this.#jobs.get(job) ?? null; }

  /**
   * Where the rider of a job goes next: to the shop, if the gateway reports its location, until the rider has the order.
   * @returns `{kind, lat, lon}` with the kind `vendor` or `destination`, or null
   */
  nextStop({job, kind, status}) {
    const {vendor, destination} = this.#jobs.get(job) ?? {};
    if (vendor && kind === 'delivery' && status !== 'in_transit') return {kind: 'vendor', ...vendor};
    return destination ? {kind: 'destination', ...destination} : null;
  }

  /** Applies a message of the gateway. */
  take({reset, more, places, goneJobs, goneRiders}) {
    if (reset) {
      this.#jobs.clear();
      this.#riders.clear();
    }
    for (const place of places) {
      if (place.job) this.#jobs.set(place.job, place);
      else if (place.rider) this.#riders.set(place.rider, place);
    }
    for (const job of goneJobs) this.#jobs.delete(job);
    for (const rider of goneRiders) this.#riders.delete(rider);
    if (!more) this.isKnown = true;
  }

  /**
   * Returns the markers: `{id, kind, state, lat, lon, heading, job, rider}`, a rider only once.
   * @param row returns the row of a job, or null; `riders`: the last response about riders, by name; `silent`: riders with
   *     a task who cannot be reached; `isOld`: the connection has been lost for a while
   */
  markers({row, riders, silent, now, isOld = false}) {
    const [moving, markers] = [new Map(), []];
    for (const place of this.#jobs.values()) {
      const known = row(place.job);
      if (!known) continue;
      if (place.destination) markers.push(jobMarker(place, known, now, silent));
      if (!place.position) continue;
      const marker = movingMarker(place, known, now, silent, isOld);
      const other = moving.get(marker.rider);
      if (!other) moving.set(marker.rider, marker);
      else if (other.at < marker.at) moving.set(marker.rider, {...marker, state: worse(other.state, marker.state)});
      else other.state = worse(other.state, marker.state);
    }
    for (const place of this.#riders.values()) {
      const known = riders.get(place.rider);
      if (!place.position || moving.has(place.rider)) continue;
      markers.push({
        id: `rider:${place.rider}`, kind: 'rider', state: restingState(known), ...place.position, rider: place.rider,
        job: known?.tasks[0] ?? null, at: place.at, heading: null,
      });
    }
    markers.push(...moving.values());
    return markers;
  }
}

const worse = (one, other) => (riderStates.indexOf(one) < riderStates.indexOf(other) ? one : other);

function jobMarker({job, destination}, row, now, silent) {
  const need = needOf(row, now, silent);
  const state = need && need !== 'late' ? 'problem' : lateness(row, now)?.state ?? 'open';
  return {
    id: `job:${job}`, kind: 'job', state: state === 'on_time' ? 'open' : state, ...destination, job, rider: row.rider ?? null,
    heading: null,
  };
}

function movingMarker({job, rider, position, hdg, at}, row, now, silent, isOld) {
  const isSilent = isOld || row.tracking !== 'live' || silent.has(row.rider);
  const state = isSilent ? 'silent' : lateness(row, now)?.state === 'late' ? 'late' : 'live';
  return {id: `rider:${rider ?? job}`, kind: 'rider', state, ...position, heading: hdg ?? null, job, rider: rider ?? job, at};
}

/** A rider who has a place is online. The list of riders is limited; whether one it does not name is free is unknown. */
const restingState = (rider) => (!rider ? 'online' : !rider.reachable ? 'unreachable' : isFree(rider) ? 'available' : 'busy');

/** Counts the markers of each kind and state: `{'rider live': 3}`. */
export function tally(markers) {
  const counts = {};
  for (const {kind, state} of markers) counts[`${kind} ${state}`] = (counts[`${kind} ${state}`] ?? 0) + 1;
  return counts;
}
