// When to come back, when to ask whether anybody is there, how fast to speak, and which positions wait: decided here
// from times that are given, so that a test needs neither a clock nor a network.

// ---- coming back ----

/** ms: the ceiling of the first wait after a connection that stood. */
export const RECONNECT_FIRST = 3_000;
/** ms: no ceiling is higher. */
export const RECONNECT_LONGEST = 30_000;
/** ms that a session has to stand until the next wait is a first one again. */
export const STEADY_AFTER = 10_000;
/** ms: what everybody who was told the same time is spread over. */
export const SPREAD = 300;
/** ms: a gateway that wants us back later than this is not believed. */
export const PATIENCE = 600_000;
/** ms until there may be room again: a session of our own whose network is gone ends within 35 s (ping and pong). */
export const FULL_AGAIN = 40_000;

/**
 * How long to wait before the next attempt: full jitter, or what the gateway said.
 *
 * @param {number} failures attempts since a session stood
 * @param {number|null} notBefore ms, by `now`, when the gateway wants us back
 * @param {number} now ms
 * @param {() => number} random 0 to 1
 */
export function reconnectDelay(failures, notBefore, now, random) {
  if (notBefore !== null) return Math.min(PATIENCE, Math.max(0, notBefore - now)) + random() * SPREAD;
  const ceiling = failures === 0 ? RECONNECT_FIRST : Math.min(RECONNECT_LONGEST, 1000 * 2 ** failures);
  return random() * ceiling;
}

/** There are as many sessions as there may be; one of them may be our own, of a network that we have left. */
export const FULL = 4009;

/**
 * What a close means for who was connected (protocol/close-codes.md): whether coming back is of use, in how many ms
 * at the soonest (`null`: at the usual pace), and what it is called.
 *
 * @param {number} code
 */
export function closeMeaning(code) {
  return {
    comesBack: code < 4500 || code > 4999,
    retryInMs: code === FULL ? FULL_AGAIN : null,
    error: {
      4005: 'token_expired', 4500: 'unauthorized', 4502: 'revoked', 4503: 'unsupported_version',
      4009: 'limit_exceeded', 4505: 'bad_request', 4506: 'conflict',
    }[code] ?? 'unavailable',
  };
}

// ---- whether anybody is there ----

/** ms without any message until we ask. */
export const PING_AFTER = 20_000;
/** ms without any message, in spite of our asking, until the connection is given up. */
export const GIVE_UP_AFTER = 40_000;
/** The same while a live job is followed or a report is to be answered: then something comes every 8 s. */
export const EXPECTED_AFTER = 10_000;
/** ms for an answer once the network is back, and until a gateway that is asked counts as silent. */
export const PROBE = 4_000;
/** ms from the attempt to the welcome. */
export const CONNECT_WITHIN = 15_000;
/** ms for a gateway that is going away to close, after the time it named. */
export const GOODBYE = 2_000;
/** ms of messages after the system said that it is offline, until the messages are believed. */
export const OFFLINE_DOUBTED_AFTER = 30_000;

/**
 * What a silence asks for: `'wait'`, `'ping'` or `'give up'`, and in how many ms to look again. Who slept (a laptop
 * that was shut) asks before it gives up.
 *
 * @param {{heard: number, asked: number|null, probing: boolean, expects?: boolean}} line when something was heard last;
 *     when we first asked since then; whether an answer is wanted soon; whether something should have come by itself
 * @param {number} now ms
 */
export function heartbeat({heard, asked, probing, expects = false}, now) {
  const pingAfter = expects ? EXPECTED_AFTER : PING_AFTER;
  const answer = probing ? PROBE : GIVE_UP_AFTER - pingAfter;
  if (asked !== null) {
    const rest = asked + answer - now;
    return rest <= 0 ? {what: 'give up', lookIn: 0} : {what: 'wait', lookIn: rest};
  }
  const quiet = heard + pingAfter - now;
  return probing || quiet <= 0 ? {what: 'ping', lookIn: answer} : {what: 'wait', lookIn: quiet};
}

// ---- how fast to speak ----

/** Messages at once, and a second: below what a gateway takes of one connection (40, 20/s), so that nothing is lost. */
export const MESSAGES_BURST = 30;
export const MESSAGES_PER_SECOND = 15;
/** Messages that wait, at most; of more the newest are refused to who says them. */
export const MOST_WAITING = 500;

/** How many messages may go now. */
export class MessageBudget {
  #tokens = MESSAGES_BURST;
  #at = 0;

  constructor(now) { this.#at = now; }

  /** @returns {number} 0 when one was taken, else the ms until one can be. */
  take(now) {
    this.#tokens = Math.min(MESSAGES_BURST, this.#tokens + (now - this.#at) * MESSAGES_PER_SECOND / 1000);
    this.#at = now;
    if (this.#tokens < 1) return Math.ceil((1 - this.#tokens) * 1000 / MESSAGES_PER_SECOND);
    this.#tokens -= 1;
    return 0;
  }
}

// ---- positions that wait ----

/** Readings that wait, at most: of more the oldest is forgotten. */
export const MOST_FIXES = 20;
/** Readings of one report: when the newest is refused, the one before it is shown. */
export const FIXES_PER_REPORT = 5;
/** ms after which a gateway takes a reading no more. */
export const FIX_LIFETIME = 55_000;
/** Jobs of one report. */
export const MOST_JOBS = 10;
/** s between two reports until the gateway says how often. */
export const FIRST_INTERVAL = 1;
/** ms: a clock that is further off than this is put right by the gateway's. */
export const CLOCK_TOLERANCE = 2_000;

/** What a job may be called. */
export const JOB_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Whether somebody can be there: (0, 0) is what receivers say that know nothing. */
export function isPlace({lat, lon}) {
  return Number.isFinite(lat) && Number.isFinite(lon) && Math.abs(lat) <= 90 && Math.abs(lon) <= 180
    && (lat !== 0 || lon !== 0);
}

/**
 * Readings of a rider's place on their way to the gateway: bounded, the newest first, never faster than the gateway
 * asks for, and none that is too old to be taken.
 */
export class FixQueue {
  #waiting = [];
  #seq = 0;
  #sentAt = -Infinity;
  #interval = FIRST_INTERVAL * 1000;
  #unanswered = null;

  /** Readings that wait. */
  get count() { return this.#waiting.length; }

  /** s between two reports. */
  get interval() { return this.#interval / 1000; }
  set interval(seconds) { this.#interval = Math.min(20, Math.max(1, seconds)) * 1000; }

  /**
   * @param {string[]} jobs in the order of their stops
   * @param {object} fix with `at` by our wall clock, ms
   */
  add(jobs, fix) {
    if (jobs.length === 0 || jobs.length > MOST_JOBS) {
      throw new RangeError(`A position is reported for 1 to ${MOST_JOBS} jobs, not for ${jobs.length}.`);
    }
    if (!jobs.every((job) => JOB_NAME.test(job))) throw new RangeError(`No job is called ${jobs.join(' or ')}.`);
    // A gateway takes neither, and what is as new as another says nothing more.
    if (!isPlace(fix) || !Number.isFinite(fix.at)) return;
    if (this.#waiting.some((waiting) => waiting.fix.at === fix.at)) return;
    this.#waiting.push({jobs: [...jobs], fix});
    this.#waiting.sort((a, b) => b.fix.at - a.fix.at);
    this.#waiting.length = Math.min(this.#waiting.length, MOST_FIXES);
  }

  /** ms until the next report is due, by the clock that does not go back; `null` when nothing waits. */
  due(now) {
    return this.#waiting.length === 0 ? null : Math.max(0, this.#sentAt + this.#interval - now);
  }

  /**
   * The report that is due: the newest readings. All that waited is gone with it: older ones are of no use to anybody.
   *
   * @param {number} now ms of the clock that does not go back
   * @param {{wall: number, clockOffset: number}} clock our wall clock and what the gateway's is ahead of it, ms
   * @returns {object|null} the message `location`
   */
  next(now, {wall, clockOffset}) {
    if (this.due(now) !== 0) return null;
    const correction = Math.abs(clockOffset) > CLOCK_TOLERANCE ? clockOffset : 0;
    const fresh = this.#waiting.filter(({fix}) => wall - fix.at < FIX_LIFETIME);
    this.#waiting = [];
    if (fresh.length === 0) return null;
    const {jobs} = fresh[0];
    const told = fresh.filter((other) => other.jobs.join() === jobs.join()).slice(0, FIXES_PER_REPORT);
    this.#sentAt = now;
    this.#seq += 1;
    this.#unanswered = {seq: this.#seq, jobs, fix: told[0].fix};
    const fixes = told.map(({fix}) => withoutGaps(fix, correction));
    const {battery} = told[0].fix;
    const report = {type: 'location', ...(jobs.length === 1 ? {job: jobs[0]} : {jobs}), seq: this.#seq, fixes};
    return within(battery, 0, 1) ? {...report, battery} : report;
  }

  /** A report was sent, and the gateway has not said what became of it. */
  get isUnanswered() { return this.#unanswered !== null; }

  /** The gateway took the report, and all before it; or refused it. */
  answered(seq) { if (this.#unanswered && seq >= this.#unanswered.seq) this.#unanswered = null; }

  /** The connection is gone: whoever stands still has no other reading to tell, so the last one is told again. */
  disconnected() {
    const lost = this.#unanswered;
    this.#unanswered = null;
    this.#sentAt = -Infinity;
    if (lost) this.add(lost.jobs, lost.fix);
  }

  /** Nothing of the job is to be told any more. */
  forget(job) {
    this.#waiting = this.#waiting.filter(({jobs}) => !jobs.includes(job));
    if (this.#unanswered?.jobs.includes(job)) this.#unanswered = null;
  }
}

const within = (value, least, most) => Number.isFinite(value) && value >= least && value <= most;

/** What a browser does not know is `null` there, and missing here; what a gateway would refuse is left out. */
function withoutGaps({at, lat, lon, acc, spd, hdg}, correction) {
  const digits = (degrees) => Math.round(degrees * 1e7) / 1e7;
  return {
    at: Math.round(at + correction), lat: digits(lat), lon: digits(lon),
    ...(within(acc, 0, 10_000) && {acc}), ...(within(spd, 0, 340) && {spd}),
    ...(Number.isFinite(hdg) && {hdg: ((hdg % 360) + 360) % 360}),
  };
}
