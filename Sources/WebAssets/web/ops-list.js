// The open jobs of a zone, filtered and sorted: pure, so that it runs without a page. Responses of `GET zones/{zone}/jobs`
// (all jobs or only changes) keep the list up to date. The filters are stored in the address.

import {isWithoutRider, labelOf, lateness, needOf, queue, reasons} from './ops-attention.js';
import {clock} from './ops-polling.js';

/** The sort keys, by column. Names are ASCII and there may be thousands, so texts compare by code unit. */
const ORDERS = {
  job: labelOf,
  status: (row) => row.status,
  since: (row) => row.statusAt,
  tracking: (row, now, silent) => urgency(row, now, silent),
  due: (row, now) => row.promisedBy ?? (row.arrivesAt ? Math.max(now, row.arrivesAt) : Infinity),
  unavailable: (row) => row.unavailable ?? '~',
  seen: (row) => row.seenAt ?? Infinity,
  rider: (row) => row.rider ?? '~',
  customer: (row) => row.customer,
  followers: (row) => -row.followers,
};

/** Tracking states in order of urgency. */
const RANKS = {lost: 0, stale: 1, paused: 2, waiting: 3, live: 4, arrived: 5, ended: 6};

export const trackings = Object.keys(RANKS);

/** Jobs that need somebody come first, then the others by their tracking state. */
const urgency = (row, now, silent) => {
  const need = needOf(row, now, silent);
  return need ? reasons.indexOf(need) : 10 + (RANKS[row.tracking] ?? 9);
};

/** The filters for jobs that need somebody. */
export const needs = ['attention', 'no_rider', 'late'];
const isNeeded = (row, need, now, silent) => (
  need === 'no_rider' ? isWithoutRider(row, now) || row.status === 'allocation_failed'
    : need === 'late' ? lateness(row, now)?.state === 'late' : needOf(row, now, silent) !== null);
export const statuses = [
  'pending_vendor_acceptance', 'accepted', 'preparing', 'ready_for_pickup', 'in_transit', 'allocation_failed',
  'assigned', 'on_the_way', 'work_in_progress',
];
export const unavailableReasons = [
  'no_fix', 'permission_denied', 'services_disabled', 'hidden', 'low_battery', 'navigation_handoff', 'network', 'mocked',
  'unknown',
];

/** The views of the page: dispatch and engineering. */
export const tabs = ['system'];

const FILTERS = {tab: tabs, q: null, need: needs, status: statuses, tracking: trackings, unavailable: unavailableReasons};
export const usualSort = 'tracking';

/** Reads the address: `{zone, job, tab, q, need, status, tracking, unavailable, sort, down}`, without invalid values. */
export function readQuery(search) {
  const parameters = new URLSearchParams(search);
  const name = (key) => (/^[A-Za-z0-9_-]{1,64}$/.test(parameters.get(key) ?? '') ? parameters.get(key) : null);
  const query = {zone: name('zone'), job: name('job')};
  for (const [key, known] of Object.entries(FILTERS)) {
    const value = parameters.get(key) ?? '';
    query[key] = known === null || known.includes(value) ? value.slice(0, 64) : '';
  }
  const sort = parameters.get('sort') ?? usualSort;
  const column = sort.replace(/^-/, '');
  query.sort = ORDERS[column] ? column : usualSort;
  query.down = Boolean(ORDERS[column]) && sort.startsWith('-');
  return query;
}

/** Returns the query string for this address. Unrelated parameters in `search` stay (the language). */
export function writeQuery(query, search) {
  const parameters = new URLSearchParams(search);
  const sort = `${query.down ? '-' : ''}${query.sort}`;
  const values = {...query, down: null, sort: sort === usualSort ? null : sort};
  for (const [key, value] of Object.entries(values)) {
    if (value) parameters.set(key, value);
    else parameters.delete(key);
  }
  const text = parameters.toString();
  return text ? `?${text}` : '';
}

/** ms in which the gateway should list an assignment that it has confirmed. */
export const LISTED_WITHIN = 10_000;

/** The open jobs of one zone. */
export class JobList {
  #rows = new Map();
  #assigned = new Map();   // assignments that the list does not contain yet, by job: {rider, old, row, until}
  /** The version from which to request changes; null requests all jobs. */
  version = null;
  isKnown = false;
  /** Riders with a task who cannot be reached. */
  silent = new Set();

  get size() { return this.#rows.size; }
  row(job) { return this.#rows.get(job) ?? null; }

  /**
   * Shows an assignment that the gateway has confirmed, until the list says so too.
   * @param rider null for nobody
   */
  assign(job, rider, now = clock()) {
    const [row, before] = [this.row(job), this.#assigned.get(job)];
    if (!row) return;
    this.#assigned.set(job, {
      rider: rider ?? undefined, old: [...(before?.old ?? []), row.rider], row: before?.row ?? row, until: now + LISTED_WITHIN,
    });
    this.#rows.set(job, {...row, rider: rider ?? undefined});
  }

  /** A row of a response that is older than an assignment keeps the rider of the assignment. */
  #current = (row, now) => {
    const known = this.#assigned.get(row.job);
    if (known && now < known.until && row.rider !== known.rider && known.old.includes(row.rider)) {
      known.row = row;
      return {...row, rider: known.rider};
    }
    this.#assigned.delete(row.job);
    return row;
  };

  /** @returns whether an assignment was never listed, so that the list's rider is shown again */
  #expire = (now) => {
    let isNews = false;
    for (const [job, {until, row}] of this.#assigned) {
      if (now < until) continue;
      this.#assigned.delete(job);
      if (this.#rows.has(job)) this.#rows.set(job, row);
      isNews = true;
    }
    return isNews;
  };

  /**
   * Applies a response. In a list of several pages the version of the first page counts; later changes arrive with the next
   * request.
   * @returns whether anything changed
   */
  take(answer, {isContinued = false, now = clock()} = {}) {
    if (answer.reset && !isContinued) this.#rows = new Map();
    for (const row of answer.jobs) this.#rows.set(row.job, this.#current(row, now));
    for (const job of answer.gone) this.#rows.delete(job);
    if (!isContinued) this.version = answer.version;
    const isNews = this.#expire(now) || answer.reset || answer.jobs.length > 0 || answer.gone.length > 0 || !this.isKnown;
    this.isKnown = true;
    return isNews;
  }

  /** Returns the rows that match the filters, sorted, with the name as the last key. @param now ms since the epoch */
  rows(query, now = clock()) {
    const fits = matcher(query, now, this.silent);
    const found = [];
    for (const row of this.#rows.values()) if (fits(row)) found.push(row);
    return ordered(found, query, now, this.silent);
  }

  /** Counts the jobs in each tracking state and with each need, ignoring these two filters. */
  counts(query, now = clock()) {
    const fits = matcher({...query, tracking: '', need: ''}, now, this.silent);
    const counts = Object.fromEntries([...trackings, ...needs].map((name) => [name, 0]));
    for (const row of this.#rows.values()) {
      if (!fits(row)) continue;
      counts[row.tracking] += 1;
      for (const need of needs) if (isNeeded(row, need, now, this.silent)) counts[need] += 1;
    }
    return counts;
  }

  /** Returns the jobs that need somebody, whatever the filters: `{row, reason, since}`, the most urgent first. */
  queue(now = clock()) { return queue(this.#rows.values(), now, this.silent); }
}

function matcher({q, need, status, tracking, unavailable}, now, silent) {
  const wanted = q.trim().toLowerCase();
  return (row) => (!need || isNeeded(row, need, now, silent)) && (!status || row.status === status) && (!tracking || row.tracking === tracking)
    && (!unavailable || row.unavailable === unavailable)
    && (!wanted || [row.job, labelOf(row), row.rider ?? '', row.customer].some((name) => name.toLowerCase().includes(wanted)));
}

/** Sorts with keys that are computed once per row. */
function ordered(rows, {sort, down}, now, silent) {
  const key = ORDERS[sort];
  const keyed = rows.map((row) => ({row, key: key(row, now, silent)}));
  const sign = down ? -1 : 1;
  keyed.sort((one, other) => {
    if (one.key !== other.key) return one.key < other.key ? -sign : sign;
    return one.row.job < other.row.job ? -1 : 1;
  });
  return keyed.map(({row}) => row);
}
