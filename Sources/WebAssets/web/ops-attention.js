// Which jobs need a dispatcher, and how urgently: pure, so that it runs without a page. Times are ms since the epoch.

const MINUTE = 60_000;

/** How close the expected arrival may come to the promised time before a job is at risk. */
const MARGIN = 5 * MINUTE;

/** How long before the end of the promised window a visit needs a rider: windows last up to five hours. */
const AHEAD = 6 * 60 * MINUTE;

/** How long a job should stay in a status. Statuses in which nothing is expected have no target. */
export const TARGETS = {
  pending_vendor_acceptance: 5 * MINUTE, accepted: 10 * MINUTE, preparing: 20 * MINUTE, ready_for_pickup: 10 * MINUTE,
  in_transit: 30 * MINUTE, allocation_failed: 0, on_the_way: 45 * MINUTE,
};

/** Statuses in which somebody should be on the way or at work, so a job without a rider cannot proceed. */
const NEEDS_RIDER = ['ready_for_pickup', 'in_transit', 'assigned', 'on_the_way', 'work_in_progress'];

/** The job's name for people: its order number, if the list has it. */
export const labelOf = (row) => row.display?.orderNumber ?? row.job;
/** The order number and the job. */
export const namesOf = (row) => [...new Set([labelOf(row), row.job])].join(' · ');

/** When a visit needs a rider: it may be planned days ahead. Rows have only the end of what was promised. */
const neededAt = (row) => (row.status === 'assigned' && row.promisedBy ? row.promisedBy - AHEAD : 0);

/** The job cannot proceed because nobody has it. */
export const isWithoutRider = (row, now) => !row.rider && NEEDS_RIDER.includes(row.status) && now >= neededAt(row);

/** How much longer than its target a job has been in its status; 0 within it. @returns ms */
export function overdue(row, now) {
  const target = TARGETS[row.status];
  return target === undefined ? 0 : Math.max(0, now - row.statusAt - target);
}

/**
 * Compares the expected arrival with the promise.
 * @returns `{state, by}`: `late`, `risk` or `on_time`, and by how many ms it is late; null if nothing was promised, and once
 *     the work has begun
 */
export function lateness(row, now) {
  if (!row.promisedBy || row.status === 'work_in_progress') return null;
  const by = Math.max(now, row.arrivesAt ?? 0) - row.promisedBy;
  return {state: by > 0 ? 'late' : by > -MARGIN ? 'risk' : 'on_time', by: Math.max(0, by)};
}

/** @param silent the riders with a task who cannot be reached */
const NEEDS = {
  failed: (row) => row.status === 'allocation_failed',
  no_rider: isWithoutRider,
  address: (row) => Boolean(row.geocoding),
  lost: (row) => row.tracking === 'lost',
  silent: (row, now, silent) => row.tracking === 'stale' || (silent.has(row.rider) && now >= neededAt(row)),
  late: (row, now) => lateness(row, now)?.state === 'late',
};

/** The reasons why a job needs attention, most urgent first. */
export const reasons = Object.keys(NEEDS);

const NOBODY = new Set();

/** Returns the most urgent reason why a job needs attention, or null. */
export function needOf(row, now, silent = NOBODY) {
  return reasons.find((reason) => NEEDS[reason](row, now, silent)) ?? null;
}

/** Since when a job has needed somebody: the worst cases of a reason come first. */
const waitingSince = (row, reason) => ({
  lost: row.seenAt, silent: row.seenAt, late: row.promisedBy, no_rider: Math.max(row.statusAt, neededAt(row)),
}[reason] ?? row.statusAt);

/** Returns the jobs that need somebody: `{row, reason, since}`, the most urgent first. */
export function queue(rows, now, silent = NOBODY) {
  const found = [];
  for (const row of rows) {
    const reason = needOf(row, now, silent);
    if (reason) found.push({row, reason, since: waitingSince(row, reason)});
  }
  return found.sort((one, other) => (
    reasons.indexOf(one.reason) - reasons.indexOf(other.reason) || one.since - other.since
      || (one.row.job < other.row.job ? -1 : 1)));
}

/** Has nothing to do: a rider who may get one more task is not free while they have another. */
export const isFree = (rider) => rider.available && rider.tasks.length === 0;

/** The riders with a task who cannot be reached. @param riders of `GET zones/{zone}/riders` */
export const silentRiders = (riders) => new Set(
  riders.filter((rider) => !rider.reachable && rider.tasks.length > 0).map(({rider}) => rider));
