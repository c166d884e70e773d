// The timing rules of the client: when to reconnect and to ping, how fast to send, and which positions to send. All functions
// take the time as an argument, so tests need neither a clock nor a network.

// ---- reconnecting ----

/** Upper bound of the first delay after a stable connection, in ms. */
export const FIRST_DELAY = 3_000;
/** Upper bound of all delays, in ms. */
export const LONGEST_DELAY = 30_000;
/** How long a session must stay open, in ms, before the back-off starts over. */
export const STABLE_AFTER = 10_000;
/** Random spread of a time that the gateway sent to many clients, in ms. */
export const SPREAD = 300;
/** Longest delay that the client accepts from a gateway, in ms. */
export const LONGEST_NOT_BEFORE = 600_000;
/** ms until the session limit may permit another session: the gateway ends a dead session of this client within 35 s. */
export const SESSION_LIMIT_RETRY = 40_000;

/**
 * Returns the delay before the next attempt, in ms: the gateway's own time, or random back-off (full jitter).
 *
 * @param {number} failures attempts since the last stable session
 * @param {number|null} notBefore when the gateway wants the client to reconnect, in ms of the clock `now`
 * @param {number} now ms
 * @param {() => number} random 0 to 1
 */
export function reconnectDelay(failures, notBefore, now, random) {
  if (notBefore !== null) return Math.min(LONGEST_NOT_BEFORE, Math.max(0, notBefore - now)) + random() * SPREAD;
  const ceiling = failures === 0 ? FIRST_DELAY : Math.min(LONGEST_DELAY, 1000 * 2 ** failures);
  return random() * ceiling;
}

/** The close code when the session limit is reached. A dead session of this client may be among those counted. */
export const SESSION_LIMIT = 4009;

/**
 * Returns what a close code means for the client: whether it reconnects, after how many ms at the earliest (`null`: the usual
 * back-off), and the error code that views show.
 *
 * @param {number} code
 */
export function closeMeaning(code) {
  return {
    reconnects: code < 4500 || code > 4999,
    retryInMs: code === SESSION_LIMIT ? SESSION_LIMIT_RETRY : null,
    error: {
      4005: 'token_expired', 4500: 'unauthorized', 4502: 'revoked', 4503: 'unsupported_version',
      4009: 'limit_exceeded', 4505: 'bad_request', 4506: 'conflict',
    }[code] ?? 'unavailable',
  };
}

// ---- renewing a token ----

/** How long before its expiry, in ms, a token is renewed. A short-lived token is renewed after half of its lifetime. */
export const RENEWAL_LEAD = 60_000;
/** ms until the next attempt, if there was no newer token or the gateway refused it. */
export const RENEWAL_RETRY = 15_000;
/** The longest delay of a timer, in ms. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Returns when a JWT expires, in ms since the epoch by the gateway's clock; `null` if it does not say. */
export function tokenExpiry(token) {
  try {
    const {exp} = JSON.parse(atob(token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/')));
    return Number.isFinite(exp) ? exp * 1000 : null;
  } catch {
    return null;
  }
}

/** Returns in how many ms to renew a token; `null` if it has expired or its expiry is unknown. */
export function renewalDelay(expiry, serverTime) {
  if (expiry === null || expiry <= serverTime) return null;
  const rest = expiry - serverTime;
  return Math.min(LONGEST_TIMER, Math.max(rest - RENEWAL_LEAD, rest / 2));
}

// ---- heartbeat ----

/** ms without a message before the client sends a ping. */
export const PING_AFTER = 20_000;
/** ms without a message before the client gives up the connection. */
export const GIVE_UP_AFTER = 40_000;
/** The same as `PING_AFTER` while a job is live or a report is unanswered; the gateway then sends something every 8 s. */
export const PING_AFTER_EXPECTED = 10_000;
/** ms to wait for a pong before the gateway counts as unresponsive, and after the network is back. */
export const PONG_WITHIN = 4_000;
/** ms from the start of an attempt to the welcome. */
export const CONNECT_WITHIN = 15_000;
/** Why a connection or a request failed: the app's function did not return in time. */
export const CREDENTIAL_LATE = "The app's credential function did not answer within 15 s.";
/** ms that a gateway may take to close the connection after the time in its `goaway`. */
export const GOAWAY_GRACE = 2_000;
/** ms of received messages after which an offline report of the device is ignored. */
export const OFFLINE_DOUBTED_AFTER = 30_000;

/**
 * Decides what to do during a silence: `'wait'`, `'ping'` or `'give up'`, and in how many ms to check again. A device that
 * slept pings before it gives up.
 *
 * @param {{receivedAt: number, pingedAt: number|null, isProbing: boolean, expectsMessages?: boolean}} line when the last
 *     message was received; when the first ping since then was sent; whether a fast answer is wanted; whether the gateway
 *     should be sending something
 * @param {number} now ms
 */
export function heartbeat({receivedAt, pingedAt, isProbing, expectsMessages = false}, now) {
  const pingAfter = expectsMessages ? PING_AFTER_EXPECTED : PING_AFTER;
  const answer = isProbing ? PONG_WITHIN : GIVE_UP_AFTER - pingAfter;
  if (pingedAt !== null) {
    const rest = pingedAt + answer - now;
    return rest <= 0 ? {what: 'give up', lookIn: 0} : {what: 'wait', lookIn: rest};
  }
  const quiet = receivedAt + pingAfter - now;
  return isProbing || quiet <= 0 ? {what: 'ping', lookIn: answer} : {what: 'wait', lookIn: quiet};
}

// ---- sending rate ----

/** Burst and rate of sent messages, if the gateway's limits for the connection allow them. */
export const MESSAGES_BURST = 30;
export const MESSAGES_PER_SECOND = 15;
/** The part of the gateway's limits that is used. Pings, and pongs of the WebSocket, need the rest. */
const SHARE = 0.75;
/** How many messages may wait to be sent before requests are rejected. */
export const MOST_WAITING = 500;

/** A token bucket for sent messages. */
export class MessageBudget {
  #tokens; #at; #burst; #rate;

  /** @param {{messagesBurst?: number, messagesPerSecond?: number}} limits as in `welcome` */
  constructor(now, {messagesBurst = 40, messagesPerSecond = 20} = {}) {
    this.#at = now;
    this.#rate = Math.min(MESSAGES_PER_SECOND, SHARE * messagesPerSecond) / 1000;
    this.#tokens = this.#burst = Math.min(MESSAGES_BURST, Math.max(1, SHARE * messagesBurst));
  }

  /** Takes a token. @returns {number} 0, or the ms until one is available */
  take(now) {
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#at) * this.#rate);
    this.#at = now;
    if (this.#tokens < 1) return Math.ceil((1 - this.#tokens) / this.#rate);
    this.#tokens -= 1;
    return 0;
  }
}

// ---- position queue ----

/** How many readings may wait; the oldest ones are discarded. */
export const MOST_FIXES = 20;
/** Readings in one report. If the gateway refuses the newest one, it can show the one before. */
export const FIXES_PER_REPORT = 5;
/** Age in ms at which a gateway refuses a reading. */
export const FIX_LIFETIME = 55_000;
/** Jobs in one report. */
export const MOST_JOBS = 10;
/** Seconds between two reports until the gateway asks for another interval. */
export const FIRST_INTERVAL = 1;
/** ms that the local clock may be off before reports use the gateway's clock. */
export const CLOCK_TOLERANCE = 2_000;

/**
 * Returns when a reading was taken, by the local wall clock. Some receivers have a clock of their own, which is right while
 * the phone's is wrong. So `at` is interpreted by both clocks, and the later time that is not in the future is used.
 *
 * @param {number} at ms since the epoch, by the local or the gateway's clock
 * @param {{wall: number, clockOffset: number}} clock as in `FixQueue.next`, when the reading arrived
 */
export function localTime(at, {wall, clockOffset}) {
  if (Math.abs(clockOffset) <= CLOCK_TOLERANCE) return at;
  return [at, at - clockOffset].sort((a, b) => b - a).find((time) => time <= wall + CLOCK_TOLERANCE) ?? at;
}

/** Characters and length of the name of a job or a zone. */
export const JOB_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Whether these are valid coordinates. Receivers report (0, 0) when they have no position. */
export function isPlace({lat, lon}) {
  return Number.isFinite(lat) && Number.isFinite(lon) && Math.abs(lat) <= 90 && Math.abs(lon) <= 180
    && (lat !== 0 || lon !== 0);
}

/**
 * The queue of a rider's readings: bounded, newest first, no faster than the gateway asks for, and without readings that are
 * too old to be accepted.
 */
export class FixQueue {
  #waiting = [];
  #seq = 0;
  #sentAt = -Infinity;
  #interval = FIRST_INTERVAL * 1000;
  #unanswered = [];
  /** Jobs for which another device of the rider reports. Readings for them are discarded. */
  elsewhere = new Set();

  /** Number of queued readings. */
  get count() { return this.#waiting.length; }

  /** Seconds between two reports. */
  get interval() { return this.#interval / 1000; }
  set interval(seconds) { this.#interval = Math.min(20, Math.max(1, seconds)) * 1000; }

  /**
   * @param {string[]} jobs in the order of their stops
   * @param {object} fix with `at` in ms by the local wall clock
   */
  add(jobs, fix) {
    if (jobs.length === 0 || jobs.length > MOST_JOBS) {
      throw new RangeError(`A location can be reported for 1 to ${MOST_JOBS} jobs, not for ${jobs.length}.`);
    }
    const invalid = jobs.find((job) => !JOB_NAME.test(job));
    if (invalid !== undefined) throw new RangeError(`Invalid job name: ${invalid}. Use 1 to 64 letters, digits, _ and -.`);
    const own = jobs.filter((job) => !this.elsewhere.has(job));
    // A gateway refuses these, and a reading with the same time adds nothing.
    if (own.length === 0 || !isPlace(fix) || !Number.isFinite(fix.at)) return;
    if (this.#waiting.some((other) => other.fix.at === fix.at && String(other.jobs) === String(own))) return;
    this.#waiting = [...this.#waiting, {jobs: own, fix}].slice(-MOST_FIXES);
  }

  /** ms until the next report is due, by the monotonic clock; `null` if the queue is empty. */
  due(now) {
    return this.#waiting.length === 0 ? null : Math.max(0, this.#sentAt + this.#interval - now);
  }

  /**
   * Returns the report that is due: the newest readings for the jobs whose reading waits longest. It removes all readings for
   * these jobs, because the older ones are no longer needed. So readings for different jobs are reported in turn.
   *
   * @param {number} now ms of the monotonic clock
   * @param {{wall: number, clockOffset: number}} clock local wall clock, and how far the gateway's clock is ahead of it, in ms
   * @returns {object|null} the message `location`
   */
  next(now, {wall, clockOffset}) {
    if (this.due(now) !== 0) return null;
    const correction = Math.abs(clockOffset) > CLOCK_TOLERANCE ? clockOffset : 0;
    const fresh = this.#waiting.filter(({fix}) => wall - fix.at < FIX_LIFETIME);
    this.#waiting = fresh.filter((other) => String(other.jobs) !== String(fresh[0].jobs));
    if (fresh.length === 0) return null;
    const {jobs} = fresh[0];
    const sent = fresh.filter((other) => String(other.jobs) === String(jobs))
      .sort((a, b) => b.fix.at - a.fix.at).slice(0, FIXES_PER_REPORT);
    this.#sentAt = now;
    const seq = ++this.#seq;
    this.#unanswered = [...this.#unanswered, {...sent[0], seq}].slice(-MOST_FIXES);
    const {battery} = sent[0].fix;
    return {
      type: 'location', ...(jobs[1] ? {jobs} : {job: jobs[0]}), seq,
      fixes: sent.map(({fix}) => withoutGaps(fix, correction)), ...(within(battery, 0, 1) && {battery}),
    };
  }

  /** Whether a sent report is still unanswered. */
  get isUnanswered() { return this.#unanswered.length > 0; }

  /** The gateway accepted or refused the report with this number and all earlier ones. */
  answered(seq) { this.#unanswered = this.#unanswered.filter((other) => other.seq > seq); }

  /** Reports were lost. A rider who stands still has no newer reading, so the unanswered ones are sent again. */
  repeatUnanswered() {
    const all = [...this.#unanswered, ...this.#waiting];
    this.#waiting = this.#unanswered = [];
    this.#sentAt = -Infinity;
    for (const {jobs, fix} of all) this.add(jobs, fix);
  }

  /** Discards a job. A reading for several jobs stays for the others. @param isElsewhere another device reports the job */
  forget(job, isElsewhere) {
    if (isElsewhere) this.elsewhere.add(job);
    const others = (readings) => readings.map((reading) => (
      {...reading, jobs: reading.jobs.filter((other) => other !== job)})).filter(({jobs}) => jobs[0]);
    this.#waiting = others(this.#waiting);
    this.#unanswered = others(this.#unanswered);
  }
}

const within = (value, least, most) => Number.isFinite(value) && value >= least && value <= most;

/** Omits members that are `null` in a browser or out of the gateway's range. */
export function withoutGaps({at, lat, lon, acc, spd, hdg, mock}, correction) {
  const digits = (degrees) => Math.round(degrees * 1e7) / 1e7;
  return {
    at: Math.round(at + correction), lat: digits(lat), lon: digits(lon),
    ...(within(acc, 0, 10_000) && {acc}), ...(within(spd, 0, 340) && {spd}),
    ...(Number.isFinite(hdg) && {hdg: ((hdg % 360) + 360) % 360}), ...(mock === true && {mock}),
  };
}
