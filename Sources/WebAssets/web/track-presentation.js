// What the customer sees, as a value: derives every text of the page from the view of a job, the translations and the time.
// Nothing here uses a document or a clock, so tests can try every state without a browser. track.js writes the result to the
// page.

import {distance} from './enroute-view.js';
import {contactLink} from './page-contact.js';
import {timeText} from './page-times.js';
import {apologyText, outcome, windowText} from './track-promise.js';
import {DONE, OVER} from './track-story.js';
import {agoText, arrival, arrivalText, clockText, distanceText, mapText, updatedText} from './enroute-words.js';

/** ms without a message from the gateway after which an older position is stale. Otherwise the gateway reports it. */
export const STALE_AFTER = 30_000;
/** ms after the expected arrival from which the rider is late. Until then the arrival counts as imminent. */
export const LATE_AFTER = 120_000;
/** Distance in m at which the rider is at the door, so that an arrival time no longer matters. */
export const AT_THE_DOOR = 100;

const TRAVELLING = ['on_the_way', 'in_transit'];
const SEEN = ['live', 'stale'];
/** Statuses before the trip, in which the map shows where the order comes from. */
const BEFORE = ['pending_vendor_acceptance', 'accepted', 'preparing', 'ready_for_pickup', 'allocation_failed', 'assigned'];
const TONES = {delivered: 'good', completed: 'good', cancelled: 'bad', allocation_failed: 'warn'};
/** Reasons for the end of following that the job's status does not explain. */
const TAKEN_AWAY = ['revoked', 'reassigned'];

/** Whether the job is no longer shared with this customer. Nothing of it stays visible. */
export const isTakenAway = (view) => TAKEN_AWAY.includes(view.ended);

/** Refusals that may go away after a retry. */
export const PASSING = ['full', 'limited', 'down', 'other'];

/**
 * Returns the refusal that remains once a connection is open: what the gateway said about the job, in a message or with the
 * first state.
 */
export const refusalOnceOpen = (refusal, view) =>
  (view.refused || isTakenAway(view) || !PASSING.includes(refusal) ? refusal : null);

/**
 * Returns the refusal while the session limit is reached (4009). A customer who was connected before keeps the view, as with
 * any lost connection. A new one sees nothing.
 */
export const refusalWithoutRoom = (refusal, wasHere) => (wasHere ? refusal : refusal ?? 'full');

/** Whether the map is shown: the rider is travelling and has a visible position. */
export const isTracked = (view) =>
  TRAVELLING.includes(view.status) && SEEN.includes(view.tracking) && view.position !== null && !view.ended;

/**
 * Returns the age of the position in ms. The monotonic clock may stop while a phone sleeps, and the wall clock may be set
 * back, so the greater age counts.
 */
export const positionAge = ({positionReceivedAt, positionReceivedAtWall}, {now, wall}) =>
  Math.max(0, now - positionReceivedAt, positionReceivedAtWall === null ? 0 : wall - positionReceivedAtWall);

/** A page that knows only the view. */
const NOTHING = {times: {}, shop: null, rider: null};

/**
 * Returns everything that the page shows.
 *
 * @param current the view of enroute.js
 * @param moment `{now, wall, serverTime, heardAt, isLost, isKept, isUnseen, isReassigned, isPast, story, locale, timeZone}`: ms
 *     of the monotonic clock; ms since the epoch, by the device's and by the gateway's clock; when the gateway last sent
 *     something, by the device's clock, null before; whether the connection is lost; whether the view comes from the cache;
 *     whether it lacks the position because no session is open yet; whether another rider has taken over and was not seen yet;
 *     whether a link shows an order that has ended, without its details; what happened so far (`Story`); and for Intl
 * @param texts of `GET texts`, null while they are not loaded
 * @param words of this page, in its language
 */
export function presentation(current, moment, texts, words) {
  const {
    now, wall, serverTime, heardAt, isLost = false, isKept, isUnseen, isReassigned, isPast, locale, timeZone, story = NOTHING,
  } = moment;
  // A job that had ended and was corrected since: the end stopped the sharing, not the rider.
  const isCorrected = current.tracking === 'paused' && OVER.some((status) => status in story.times);
  const view = isCorrected ? {...current, tracking: 'waiting'} : current;
  const kind = view.kind ?? 'delivery';
  const clock = (at) => clockText(at, locale, timeZone);
  // All times are by the gateway's clock, even if this device's clock is wrong.
  const time = (at) => timeText(at, serverTime, locale, timeZone);
  const span = (window) => windowText(window, {now: serverTime, locale, timeZone});
  const isMapped = isTracked(view);
  const age = isMapped ? positionAge(view, {now, wall}) : 0;
  const isStale = isMapped && (view.tracking === 'stale' || Math.min(age, wall - (heardAt ?? 0)) > STALE_AFTER);
  const eta = !isMapped ? null : isStale && view.eta ? {...view.eta, state: 'recalculating'} : view.eta;
  const when = arrival(eta, serverTime);
  const isEtaQuiet = ['recalculating', 'unavailable', 'afterStop'].includes(when.kind);
  const isLate = eta?.state === 'ok' && serverTime - eta.arrivesAt >= LATE_AFTER && !isAtTheDoor(view);
  const range = span(view.display?.window);
  const isStillAwaited = isAwaited(view) && !isAtTheDoor(view);
  const admission = apologyText(view, {eta, serverTime, isLate, admitted: story.admitted}, time, words);
  const apology = isStillAwaited && !isLost && !isKept ? admission : '';
  // Before the rider shares a position: the promised time, or else the usual arrival time of such orders.
  const awaited = range || (view.eta?.state === 'ok' ? span(arrivalWindow(view.eta)) : '');
  const expected = isStillAwaited && !isMapped && !apology && awaited ? words.expected(awaited) : '';
  // A technician is not shown before sharing a position. Neither are leftovers of another rider or an old state.
  const isSetOff = view.status === 'in_transit' && view.tracking === 'waiting' && !isKept && !isReassigned;
  const isPreviewed = !isMapped && !view.ended && (BEFORE.includes(view.status) || isSetOff)
    && Boolean(view.destination && story.shop);
  const etaLine = isLate ? words.late
    : expected || etaText(eta, {serverTime, locale, timeZone}, words);
  const title = view.kind ? words.title[kind] : words.brand;
  const isDone = DONE.includes(view.status);
  const state = headline(view, kind, texts, words);
  const at = view.statusAt ? time(view.statusAt) : '';
  // A date has no "at" before it.
  const isDated = at !== clock(view.statusAt);
  const head = isDone && texts && !isDated ? words.doneAt(state, at) : state;
  return {
    kind, isMapped, isPreviewed, isStale, isLate, title, headline: head, apology,
    admitted: admission && view.display.window.until,
    clock: when.kind === 'within' && !isLate ? clock(eta.arrivesAt) : '',
    isExpected: Boolean(expected), isOver: OVER.includes(view.status), isDone,
    // Most people keep the page in a tab that they are not looking at.
    tab: etaLine && !isEtaQuiet ? `${etaLine} · ${title}` : head,
    detail: isDone
      ? [outcome(view, {kind, story, locale}, words), statusText(view.status, texts)?.next ?? ''].join(' ').trim()
      : detail(view, {kind, isMapped, isStale, isKept, isUnseen, isReassigned, serverTime, age, locale}, texts, words),
    tone: TONES[view.status] ?? null,
    isOld: isStale || isLost,
    age: !isMapped ? '' : isStale || isLost ? updatedText(age, locale) : words.live,
    eta: etaLine, isEtaQuiet: isLate || isEtaQuiet,
    mapDescription: isMapped && view.destination
      ? mapDescription(view, {kind, isStale, eta: isLate ? null : eta, serverTime, locale, timeZone}, words)
      : isPreviewed ? words.fromShop(
        view.vendor ?? words.shop, distanceText(distance(story.shop, view.destination), locale, {spoken: true})) : '',
    steps: steps(view, story.times, {time, at, atTime: isDated ? at : words.atTime(at)}, texts, words),
    who: whoIsComing(view, kind, words),
    facts: {
      name: words.order[kind], job: view.display?.orderNumber ?? story.order ?? (isPast ? '' : view.job), vendor: view.vendor ?? '',
      items: (view.display?.items ?? []).join('\n'), note: view.display?.note ?? '',
      window: range,
      arrival: eta?.state === 'ok' && eta.arrivesAt > serverTime ? span(arrivalWindow(eta)) : '',
      since: at,
    },
    spoken: spoken(view, {kind, isMapped, isReassigned}, texts, words),
    spokenPosition: isStale ? trackingText('stale', kind, texts) : words.liveAgain,
    arrivesAt: eta?.state === 'ok' ? eta.arrivesAt ?? null : null,
    isArriving: when.kind === 'now' && !isLate,
  };
}

const isAtTheDoor = ({position, destination}) => Boolean(destination && position) && distance(position, destination) <= AT_THE_DOOR;

/** Returns who is coming, or null. */
function whoIsComing({riderCard: card, display}, kind, words) {
  if (!card) return null;
  const name = card.name ?? words.rider[kind];
  // The plate belongs to the vehicle on the card.
  const [vehicle, plate] = display?.vehicle ? [display.vehicle] : [card.vehicle, card.plate];
  return {
    name, photo: card.photo ?? null, role: card.name ? words.rider[kind] : '',
    vehicle: [words.vehicles[vehicle], plate].filter(Boolean).join(' · '),
    contact: contactLink(card.contact, name, words),
  };
}

/** Whether somebody is still expected. */
const isAwaited = ({status, tracking, ended}) =>
  !ended && tracking !== 'arrived' && (BEFORE.includes(status) || TRAVELLING.includes(status));

/** When the rider probably arrives: 11:08–11:15, or one time if no range is known. */
const arrivalWindow = ({arrivesAt, earliestAt = arrivesAt, latestAt = arrivesAt}) => ({from: earliestAt, until: latestAt});

/** The translation of a status, or its readable key until the translations are loaded. */
const statusText = (status, texts) => texts?.statuses[status] ?? null;
const readable = (status) => (status ?? '').replace(/_/g, ' ').replace(/^./, (letter) => letter.toUpperCase());

/** Returns the sentence for a tracking state: the one for this kind of job if there is one, otherwise the general one. */
function trackingText(name, kind, texts) {
  const text = texts?.tracking?.[name];
  return text?.[kind] ?? text?.spoken ?? '';
}

function headline(view, kind, texts, words) {
  if (!view.known) return words.moment;
  if (view.status === 'work_in_progress') return words.arrived[kind];
  if (view.status === 'cancelled') return words.cancelled[kind];
  const text = statusText(view.status, texts);
  return (DONE.includes(view.status) ? text?.short : text?.long) ?? readable(view.status);
}

function detail(view, {kind, isMapped, isStale, isKept, isUnseen, isReassigned, serverTime, age, locale}, texts, words) {
  if (!view.known) return '';
  const tracking = (name) => trackingText(name, kind, texts);
  const unavailable = view.unavailable === 'unavailable_unknown' ? null : view.unavailable;
  if (isStale) {
    const ago = agoText(age, locale);
    if (!unavailable) return words.lastSeenHere(words.rider[kind], ago);
    return `${tracking(unavailable)} ${words.lastSeenAgo(ago)}`.trim();
  }
  if (isMapped) return '';
  if (!TRAVELLING.includes(view.status)) return statusText(view.status, texts)?.next ?? '';
  if (isKept) return words.withoutConnection;
  if (isUnseen && view.tracking === 'waiting') return statusText(view.status, texts)?.next ?? '';
  const isTimeUp = view.travelDeadline !== null && view.travelDeadline <= serverTime;
  if (isTimeUp && view.tracking !== 'arrived') return tracking('ended_time_limit');
  switch (view.tracking) {
    case 'arrived': return words.arrived[kind];
    case 'paused': case 'ended': return tracking(view.text ?? view.tracking);
    case 'waiting':
      if (isReassigned) return tracking('ended_reassigned');
      // The position was deleted meanwhile, so "for a moment" would not be true.
      if (view.lastSeenAt !== null && Number.isFinite(serverTime)) {
        return `${words.silent[kind]} ${words.lastSeenAgo(agoText(Math.max(0, serverTime - view.lastSeenAt), locale))}`;
      }
      return tracking(unavailable ?? 'waiting');
    default: return tracking('unavailable_unknown');
  }
}

function etaText(eta, {serverTime, locale, timeZone}, words) {
  const text = arrivalText(eta, serverTime, locale, {timeZone});
  return eta?.state === 'ok' && eta.stopsBefore ? `${text}, ${words.afterStop}` : text;
}

/** Describes the map in a sentence. A stale position is described in the past tense. */
function mapDescription(view, {kind, isStale, eta, serverTime, locale, timeZone}, words) {
  const meters = distance(view.position, view.destination);
  const who = words.rider[kind];
  if (isStale) return words.lastSeen(who, distanceText(meters, locale, {spoken: true}));
  return mapText({who, meters, eta, serverTime, timeZone}, locale);
}

/**
 * The steps. The end or the delay of a job is a separate step, after the one that had been reached. That one is no longer
 * current, and the steps after a cancellation are left out.
 * @param {{time: Function, at: string, atTime: string}} the text of a time; when the status started, alone and in a phrase
 */
function steps(view, times, {time, at, atTime}, texts, words) {
  const since = at ? words.sinceTime(at) : words.states.active;
  const label = (status) => statusText(status, texts)?.short ?? readable(status);
  const branch = {cancelled: 'over', allocation_failed: 'failed'}[view.status];
  const reached = branch ? view.steps.findIndex(({state}) => ['active', 'cancelled'].includes(state)) : -1;
  const list = view.steps.map(({status, state}, place) => {
    const isReached = place === reached;
    const isCurrent = state === 'active' && !isReached;
    const note = isCurrent ? since
      : state !== 'upcoming' && times[status] ? time(times[status])
        : isReached ? '' : words.states[state];
    return {status, state: isReached ? 'complete' : state, label: label(status), note, isCurrent};
  });
  if (DONE.includes(view.status) && list.length) {
    Object.assign(list[list.length - 1], {isCurrent: true, note: atTime || words.states.complete});
  }
  if (branch) {
    const isOver = view.status === 'cancelled';
    const step = {status: view.status, state: branch, label: label(view.status), note: isOver ? atTime : since, isCurrent: true};
    list.splice(reached < 0 ? list.length : reached + 1, isOver ? list.length : 0, step);
  }
  return list;
}

/** The text to announce for the state. It stays the same until the state changes. */
function spoken(view, {kind, isMapped, isReassigned}, texts, words) {
  if (!view.known) return '';
  const status = statusText(view.status, texts)?.spoken ?? readable(view.status);
  if (!TRAVELLING.includes(view.status) || isMapped || (view.tracking === 'waiting' && !isReassigned)) return status;
  return detail(view, {kind, isMapped: false, isStale: false, isReassigned, serverTime: -Infinity}, texts, words) || status;
}
