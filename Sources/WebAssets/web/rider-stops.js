// The stops of a rider with several tasks, as values: which tasks are picked up at the same place, and in which order the
// stops come. Orders that become ready where the rider stands are picked up first. Then orders on board are delivered, then
// all others are picked up, then the rest is delivered. Visits that start hours later come last. Within each group, visits come
// in the order of their promised times, and otherwise the nearest stop comes next. The order does not change while the stops
// are the same, because a list that changes during the ride cannot be followed; the rider can move a stop to the front.

import {distance} from './enroute-view.js';
import {allowsTravel, headingFor, isOver} from './rider-tasks.js';

/** Two vendors without a common name and address are the same place if they are this close, in m. */
export const SAME_PLACE = 40;

/** ms before its promised time from which a visit may be the next stop. */
export const AHEAD = 3 * 3_600_000;

/** Ready where the rider stood; on board; picked up next; delivered or visited after that; visits that start hours later. */
const RANKS = {here: 0, now: 1, pickup: 2, later: 3, ahead: 4};

export const isAhead = ({rank}) => rank === RANKS.ahead;

const vendorOf = ({view}) => [view.vendor, view.vendorAddress].filter(Boolean).join(', ').trim().toLowerCase();

/** Whether two pickups are at the same place. */
function isSamePickup(one, other) {
  if (one.place && other.place) return distance(one.place, other.place) <= SAME_PLACE;
  return vendorOf(one.jobs[0]) !== '' && vendorOf(one.jobs[0]) === vendorOf(other.jobs[0]);
}

/**
 * Returns the stops, in no order. Tasks that are picked up at the same place share a stop; deliveries never do, because each
 * has a customer of its own.
 *
 * @param {object[]} jobs as `Jobs.all` returns them; `places.vendor` is where the vendor is, if that is known
 * @param now ms since the epoch
 * @returns {{id: string, kind: 'pickup'|'drop'|'visit', rank: number, start: number, place: object|null, jobs: object[]}[]}
 *   `start`: the start of a visit's promised time, ms since the epoch
 */
export function stopsOf(jobs, now = Date.now()) {
  const stops = [];
  for (const job of jobs) {
    const {view, task} = job;
    if (!view.known || job.gone || isOver(view.status)) continue;
    const isBefore = headingFor({kind: view.kind, status: view.status, task}) === 'vendor';
    if (isBefore) {
      const pickup = {kind: 'pickup', rank: RANKS.pickup, place: job.places?.vendor ?? null, jobs: [job]};
      const same = stops.find((stop) => stop.kind === 'pickup' && isSamePickup(stop, pickup));
      if (same) same.jobs.push(job);
      else stops.push(pickup);
    }
    const isDrop = view.kind === 'delivery';
    const isNow = !isBefore && (isDrop || allowsTravel(view.status) || view.status === 'work_in_progress');
    const start = isDrop ? 0 : view.display?.window?.from ?? 0;
    stops.push({
      kind: isDrop ? 'drop' : 'visit', start, place: view.destination, jobs: [job],
      rank: isNow ? RANKS.now : start > now + AHEAD ? RANKS.ahead : RANKS.later,
    });
  }
  return stops.map((stop) => ({id: `${stop.kind} ${stop.jobs[0].job}`, start: 0, ...stop}));
}

const isReady = ({kind, jobs}) => kind === 'pickup' && jobs.every(({view}) => view.status === 'ready_for_pickup');
const idsOf = (stops) => new Set(stops.map(({id}) => id));
const isAt = ({place}, from) => Boolean(place && from) && distance(place, from) <= SAME_PLACE;

const byPlan = (one, other) => one.rank - other.rank || one.start - other.start;

/** Sorts stops: by rank and start, otherwise always the nearest to the one before. Stops without a place come last. */
export function nearestFirst(stops, from = null) {
  const [ordered, waiting] = [[], [...stops]];
  let here = from;
  while (waiting.length > 0) {
    const far = ({place}) => (place ? (here ? distance(here, place) : 0) : Infinity);
    const next = waiting.reduce((best, stop) => ((byPlan(stop, best) || far(stop) - far(best)) < 0 ? stop : best));
    waiting.splice(waiting.indexOf(next), 1);
    ordered.push(next);
    here = next.place ?? here;
  }
  return ordered;
}

/** The order of the stops, as long as the page is open. */
export class StopOrder {
  #ids = [];
  #first = null;
  /** Pickups that were ready, and those that became ready where the rider stood. */
  #ready = new Set();
  #here = new Set();

  /** The stop that the rider moved to the front. */
  first(id) { [this.#first, this.#ids] = [id, []]; }

  /** @param from where the rider is, or null. @param now ms since the epoch */
  of(jobs, from = null, now = Date.now()) {
    const stops = stopsOf(jobs, now);
    // Only orders that become ready move to the front, not a shop that the rider passes.
    const ready = stops.filter(isReady);
    const appeared = ready.filter((stop) => !this.#ready.has(stop.id) && isAt(stop, from));
    const here = [...stops.filter(({id}) => this.#here.has(id)), ...appeared];
    for (const stop of here) stop.rank = RANKS.here;
    this.#ready = idsOf(ready);
    this.#here = idsOf(here);
    const named = new Map(stops.map((stop) => [stop.id, stop]));
    // A completed stop does not change the order of the others; a new one starts a new order.
    this.#ids = this.#ids.filter((id) => named.has(id));
    const isKnown = appeared.length === 0 && this.#ids.length === stops.length;
    const ranked = isKnown && this.#ids.every((id, at) => at === 0 || byPlan(named.get(this.#ids[at - 1]), named.get(id)) <= 0
      || this.#ids[at - 1] === this.#first);
    const ordered = ranked ? this.#ids.map((id) => named.get(id)) : nearestFirst(stops, from);
    const first = named.get(this.#first);
    if (!first) this.#first = null;
    else if (mayBeFirst(first)) ordered.unshift(...ordered.splice(ordered.indexOf(first), 1));
    this.#ids = ordered.map(({id}) => id);
    return ordered;
  }
}

/** Whether the rider can go there next: nothing is delivered before it is picked up. */
export const mayBeFirst = ({kind, rank}) => kind !== 'drop' || rank === RANKS.now;

/** The jobs in the order of their stops: for cards and reports, because customers see the number of stops before theirs. */
export const jobsInOrder = (stops) => [...new Set(stops.flatMap(({jobs}) => jobs.map(({job}) => job)))];
