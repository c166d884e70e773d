// What a follower sees of one job, as a value: each message from the gateway produces the next view and what changed. Nothing
// here uses a socket or a clock, so tests can try every order of messages. Four rules always hold: a view never goes back in
// time, a repeated message changes nothing, a reset always wins, and a position that the rider cannot have reached is not
// shown.

/** Highest plausible speed, m/s. */
export const FASTEST = 60;
/** ms of consistent readings before an implausible jump is accepted. The gateway has already held them back for 10 s. */
export const BELIEVED_AFTER = 3_000;

const TRACKED = new Set(['live', 'stale']);
const OVER = new Set(['paused', 'arrived', 'ended']);

/** The view before the first snapshot. */
export const unknownView = (job) => Object.freeze({
  job, known: false, kind: null, status: null, statusAt: null, steps: Object.freeze([]), tracking: 'waiting',
  reason: null, text: null, unavailable: null, lastSeenAt: null, proximity: null, position: null, positionReceivedAt: null,
  positionReceivedAtWall: null, destination: null, geocoding: null, eta: null, ended: null, refused: null, epoch: null,
  id: null, travelDeadline: null, clockOffset: 0, vendor: null, vendorAddress: null,
  riderCard: null, display: null, metadata: null, customerNote: null, recipient: null, newestID: null, doubted: null,
});

/**
 * Returns the next view and what changed. `change` is `null` if the message brings nothing new; the view is then the same
 * object.
 *
 * @param {object} view
 * @param {object} message from the gateway, about the job of the view
 * @param {number} now ms of a monotonic clock
 * @param {{fastest?: number, wall?: number|null}} more highest plausible speed in m/s; the local wall clock, ms since the epoch
 * @returns {{view: object, change: string|null}}
 */
export function reduce(view, message, now, {fastest = FASTEST, wall = null} = {}) {
  const moment = {now, wall};
  switch (message.type) {
    case 'subscribed': return changed(view, 'snapshot', snapshot(view, message.snapshot, moment, false));
    case 'reset': return changed(view, 'reset', snapshot(view, message.snapshot, moment, true));
    case 'ended': return changed(view, 'ended', {ended: message.reason, ...nobodyToSee, ...hidden(message)});
    case 'error': return changed(view, 'refused', {refused: refusal(message), ...nobodyToSee, ...noDetails});
  }
  // The remaining messages update a snapshot. Without a snapshot they are late or early and are ignored.
  if (!view.known || view.ended || view.refused) return {view, change: null};
  switch (message.type) {
    case 'status': return status(view, message);
    case 'location': return location(view, message, moment, fastest);
    case 'tracking': return tracking(view, message);
    case 'eta': return OVER.has(view.tracking) ? {view, change: null} : changed(view, 'eta', {eta: arrival(message)});
    case 'unavailable': return changed(view, 'unavailable', {unavailable: message.text});
    case 'proximity': return changed(view, 'proximity', {proximity: message.state});
    default: return {view, change: null};
  }
}

const nobodyToSee = {
  position: null, positionReceivedAt: null, positionReceivedAtWall: null, eta: null, doubted: null,
};

const noDetails = {riderCard: null, display: null, metadata: null, customerNote: null, recipient: null};
/** Removed at the end: the rider's card, and all details if the job is no longer shared with this person. */
const hidden = ({reason}) => (['revoked', 'reassigned'].includes(reason) ? noDetails : {riderCard: null});

/** Freezes new parts with the view. If no part is new, the view stays the same object. */
function changed(view, change, parts) {
  const isNews = Object.keys(parts).some((name) => !isSame(view[name], parts[name]));
  return isNews ? {view: Object.freeze({...view, ...parts}), change} : {view, change: null};
}

const isSame = (a, b) => a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b));

const refusal = ({code, message}) => Object.freeze({code, message});
const arrival = ({type, job, ...rest}) => Object.freeze(rest);

/** Applies a snapshot. When a subscription resumes, the view may be newer than the snapshot. */
function snapshot(view, state, {now, wall}, isReset) {
  const goesOn = view.known && view.epoch === state.epoch && !isReset;
  const isBehind = goesOn && isBefore(state.id, view.id);
  const heading = isBehind
    ? {} : {status: state.status, statusAt: state.statusAt, steps: frozenSteps(state.steps), id: state.id};
  const hasPositions = !OVER.has(state.tracking) && state.tracking !== 'waiting';
  // The view may be newer than what this gateway has read. A position that the gateway no longer shows is removed.
  const keepsOurs = goesOn && hasPositions && view.position && state.position
    && !isAfter(state.position.id, view.position.id);
  const position = keepsOurs ? view.position : freeze(hasPositions && state.position);
  const age = state.positionAgeMs ?? 0;
  return {
    known: true, ended: null, refused: null, kind: state.kind, epoch: state.epoch, ...heading,
    destination: freeze(state.destination), geocoding: state.geocoding ?? null, vendor: state.vendor ?? null,
    vendorAddress: state.vendorAddress ?? null, riderCard: freeze(state.riderCard), display: freeze(state.display),
    metadata: freeze(state.metadata), customerNote: state.customerNote ?? null, recipient: freeze(state.recipient),
    tracking: state.tracking, reason: state.reason ?? null, text: state.text ?? null,
    unavailable: state.unavailable ?? null, lastSeenAt: state.lastSeenAt ?? null,
    travelDeadline: state.travelDeadline ?? null, eta: freeze(state.eta), position,
    positionReceivedAt: keepsOurs ? view.positionReceivedAt : position && now - age,
    positionReceivedAtWall: keepsOurs ? view.positionReceivedAtWall : position && wall && wall - age,
    newestID: keepsOurs ? view.newestID : state.position?.id ?? null, doubted: null,
    proximity: goesOn ? view.proximity : null,
  };
}

const freeze = (part) => (part ? Object.freeze(part) : null);
const frozenSteps = (steps) => Object.freeze((steps ?? []).map((step) => Object.freeze(step)));

function status(view, event) {
  // If the epoch differs, a reset will follow. If the id is older, the snapshot contained the event.
  if (event.epoch !== view.epoch || !isBefore(view.id, event.id)) return {view, change: null};
  return changed(view, 'status', {
    status: event.status, statusAt: event.at, id: event.id, steps: stepsAt(view.steps, event.status),
  });
}

/**
 * Returns the steps after a status was reached. A side status (`allocation_failed`) leaves them unchanged.
 *
 * @param {{status: string, state: string}[]} steps
 * @param {string} status
 */
export function stepsAt(steps, status) {
  if (status === 'cancelled') {
    return frozenSteps(steps.map((step) => (step.state === 'complete' ? step : {...step, state: 'cancelled'})));
  }
  const place = steps.findIndex((step) => step.status === status);
  if (place < 0) return steps;
  const isDone = status === 'delivered' || status === 'completed';
  return frozenSteps(steps.map((step, index) => ({
    ...step, state: index < place || isDone ? 'complete' : index > place ? 'upcoming' : 'active',
  })));
}

function tracking(view, message) {
  const parts = {tracking: message.state, reason: message.reason ?? null, text: message.text ?? null};
  // Remove the marker: otherwise it would later glide to the position of another rider.
  const isSeen = TRACKED.has(message.state);
  return changed(view, 'tracking', isSeen ? parts : {...parts, ...nobodyToSee, unavailable: null});
}

function location(view, message, {now, wall}, fastest) {
  if (OVER.has(view.tracking) || (view.newestID !== null && !isAfter(message.id, view.newestID))) {
    return {view, change: null};
  }
  // Even a reading that is not shown proves that the phone is connected.
  const heard = {tracking: 'live', text: 'live', reason: null, unavailable: null, newestID: message.id};
  if (view.position && !isReachable(view.position, message, fastest)) {
    const since = view.doubted && isReachable(view.doubted.last, message, fastest) ? view.doubted.since : message.at;
    if (message.at - since < BELIEVED_AFTER) return unseen(view, {...heard, doubted: {since, last: freeze(message)}});
  }
  return changed(view, 'location', {
    ...heard, position: freeze(message), positionReceivedAt: now, positionReceivedAtWall: wall, doubted: null, lastSeenAt: null,
  });
}

/** A reading that is not shown counts as a change only if it ends a silence. */
function unseen(view, parts) {
  const wasSilent = view.tracking !== 'live' || view.unavailable !== null;
  return {view: Object.freeze({...view, ...parts}), change: wasSilent ? 'tracking' : null};
}

/** Whether a rider could have travelled from one reading to the other in the time between. */
function isReachable(from, to, fastest) {
  const meters = distance(from, to);
  // Within the accuracy of both readings the rider may not have moved at all.
  const open = (from.acc ?? 0) + (to.acc ?? 0);
  return meters <= open || meters - open <= fastest * Math.max(0, to.at - from.at) / 1000;
}

/** Position ids have 16 digits, more than a JavaScript number can always represent. */
const isAfter = (a, b) => BigInt(a) > BigInt(b);

/** Status ids have the form `<ms>-<count>`. */
export function isBefore(a, b) {
  const [aTime, aCount] = a.split('-').map(Number);
  const [bTime, bCount] = b.split('-').map(Number);
  return aTime < bTime || (aTime === bTime && aCount < bCount);
}

/** Great-circle distance in m. */
export function distance(a, b) {
  const radians = Math.PI / 180;
  const h = Math.sin((b.lat - a.lat) * radians / 2) ** 2
    + Math.cos(a.lat * radians) * Math.cos(b.lat * radians) * Math.sin((b.lon - a.lon) * radians / 2) ** 2;
  return 2 * 6_371_008.8 * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** Bearing from one place to another, 0 to 360 degrees clockwise from north. */
export function bearing(a, b) {
  const radians = Math.PI / 180;
  const y = Math.sin((b.lon - a.lon) * radians) * Math.cos(b.lat * radians);
  const x = Math.cos(a.lat * radians) * Math.sin(b.lat * radians)
    - Math.sin(a.lat * radians) * Math.cos(b.lat * radians) * Math.cos((b.lon - a.lon) * radians);
  return (Math.atan2(y, x) / radians + 360) % 360;
}

// ---- the pool of a zone ----

/** The pool before the first snapshot. `riders` contains, by name, the available riders and those that changed since. */
export const unknownPool = (zone) => Object.freeze({
  zone, known: false, version: null, riders: new Map(), count: 0, refused: null,
});

/**
 * Returns the pool after a message and what changed: `'pool'`, `'refused'`, a rider's change, or `null` for nothing new.
 *
 * @param {object} pool
 * @param {object} message from the gateway, about the zone of the pool
 */
export function reducePool(pool, message) {
  switch (message.type) {
    case 'error':
      return {pool: Object.freeze({...pool, refused: refusal(message)}), change: 'refused'};
    case 'rider': {
      if (!pool.known || message.version <= pool.version) return {pool, change: null};
      return {pool: afterChanges(pool, [message], message.version), change: message};
    }
    case 'pool': {
      if (message.changes) {
        const news = message.changes.filter((change) => change.version > (pool.version ?? -1));
        return {pool: afterChanges(pool, news, message.version), change: 'pool'};
      }
      const riders = new Map(message.riders.map((rider) => [rider.rider, Object.freeze({...rider, available: true})]));
      const {version, count} = message;
      return {pool: Object.freeze({...pool, known: true, refused: null, version, riders, count}), change: 'pool'};
    }
    default: return {pool, change: null};
  }
}

function afterChanges(pool, changes, version) {
  const riders = new Map(pool.riders);
  let {count} = pool;
  for (const {type, zone, prev, version: _, ...change} of changes) {
    const before = riders.get(change.rider);
    // For a rider outside the list, it is unknown whether `count` included the rider. Assume that it did not.
    count += (change.available ? 1 : 0) - (before?.available ? 1 : 0);
    if (change.change === 'removed') riders.delete(change.rider);
    else {
      const heartbeat = change.available ? change.at : before?.heartbeat;
      riders.set(change.rider, Object.freeze({...change, heartbeat}));
    }
  }
  return Object.freeze({...pool, known: true, refused: null, version, riders, count: Math.max(0, count)});
}
