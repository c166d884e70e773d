// What a rider's phone reports in the background, as a value that outlives the app: each event produces the next state.
// Nothing here uses a network, a clock or a store, so tests can try every order of events. The rules are those of the queue
// for sockets (enroute-timing.js): the newest reading wins, at the pace of the gateway, and readings that are too old are
// dropped.
//
// All times are in ms by the local wall clock, because a monotonic clock starts again with each start of the app.

import {
  CLOCK_TOLERANCE, FIRST_INTERVAL, FIXES_PER_REPORT, FIX_LIFETIME, JOB_NAME, LONGEST_NOT_BEFORE, MOST_FIXES, MOST_JOBS,
  isPlace, localTime, reconnectDelay, withoutGaps,
} from './enroute-timing.js';

/** Longest interval that a gateway asks for, in seconds; also the pace after it refused a report. */
export const LONGEST_INTERVAL = 20;

/** Errors after which this phone does not report for the job, until the rider switches travel mode on here. */
const ENDING = ['other_device', 'travel_mode_off'];

/** Errors after which the same fixes may be accepted later, in addition to those that the gateway marks. */
const PASSING = ['network', 'unauthorized', 'token_expired', 'rate_limited', 'unavailable'];

/**
 * The state before the first job: `jobs` in the order of their stops, `waiting` readings with the newest first, seconds
 * between two reports, when the last one was sent, when the next one may be sent at the earliest, attempts that failed in a
 * row, and how far the gateway's clock is ahead.
 */
export const nothing = Object.freeze({
  jobs: Object.freeze([]), waiting: Object.freeze([]), interval: FIRST_INTERVAL, sentAt: null, notBefore: null, failures: 0,
  clockOffset: 0,
});

const next = (state, parts) => Object.freeze({...state, ...parts});
const finite = (value, otherwise) => (Number.isFinite(value) ? value : otherwise);
const isFix = (fix) => typeof fix === 'object' && fix !== null && isPlace(fix) && Number.isFinite(fix.at);
const isJob = (job) => typeof job === 'string' && JOB_NAME.test(job);
const seconds = (value) => Math.min(LONGEST_INTERVAL, Math.max(FIRST_INTERVAL, value));

// ---- storing ----

/** Returns the text to store. Readings that are too old for any gateway are not stored. */
export function textOf(state, wall) {
  return JSON.stringify({...state, waiting: state.waiting.filter((fix) => wall - fix.at < FIX_LIFETIME)});
}

/** Returns the stored state. Malformed parts, for example of another version, are left out. */
export function stateOf(text) {
  let stored;
  try { stored = JSON.parse(text ?? 'null'); } catch { /* Malformed: nothing is stored. */ }
  if (typeof stored !== 'object' || stored === null) return nothing;
  const jobs = Array.isArray(stored.jobs) ? stored.jobs.filter(isJob).slice(0, MOST_JOBS) : [];
  const waiting = Array.isArray(stored.waiting) ? stored.waiting.filter(isFix) : [];
  return next(nothing, {
    jobs, waiting: jobs.length > 0 ? newestOf(waiting) : [], interval: seconds(finite(stored.interval, FIRST_INTERVAL)),
    sentAt: finite(stored.sentAt, null), notBefore: finite(stored.notBefore, null),
    clockOffset: finite(stored.clockOffset, 0),
  });
}

// ---- jobs and readings ----

/** Returns the state with other jobs. Readings stay only if all of these jobs were reported before too. */
export function withJobs(state, jobs) {
  if (jobs.length > MOST_JOBS) {
    throw new RangeError(`A location can be reported for at most ${MOST_JOBS} jobs, not for ${jobs.length}.`);
  }
  const invalid = jobs.find((job) => !isJob(job));
  if (invalid !== undefined) throw new RangeError(`Invalid job name: ${invalid}. Use 1 to 64 letters, digits, _ and -.`);
  const isShorter = jobs.length > 0 && jobs.every((job) => state.jobs.includes(job));
  return next(state, {jobs: [...new Set(jobs)], waiting: isShorter ? state.waiting : [], notBefore: null, failures: 0});
}

/** Returns the state with further readings, which arrived at `wall`. Without a job, there is nothing to report. */
export function withFixes(state, fixes, wall) {
  if (state.jobs.length === 0) return state;
  const clock = {wall, clockOffset: state.clockOffset};
  const local = fixes.filter(isFix).map((fix) => ({...fix, at: localTime(fix.at, clock)}));
  return next(state, {waiting: newestOf([...state.waiting, ...local])});
}

function newestOf(fixes) {
  const byTime = new Map(fixes.map((fix) => [fix.at, fix]));
  return Object.freeze([...byTime.values()].sort((a, b) => b.at - a.at).slice(0, MOST_FIXES));
}

// ---- reporting ----

/** ms until the next report is due; `null` if there is nothing to report. */
export function due(state, wall) {
  if (state.waiting.length === 0 || state.jobs.length === 0) return null;
  const {sentAt, interval, notBefore} = state;
  // A clock that was set back must not stop the reports.
  if (sentAt === null || sentAt > wall) return 0;
  return Math.max(0, sentAt + interval * 1000 - wall, Math.min(notBefore, sentAt + LONGEST_NOT_BEFORE) - wall);
}

/**
 * Returns the state while a report is sent, and the report: the newest readings, for the first job with the others in `jobs`.
 * `report` is `null` if all readings are too old.
 */
export function reported(state, wall) {
  const correction = Math.abs(state.clockOffset) > CLOCK_TOLERANCE ? state.clockOffset : 0;
  const waiting = state.waiting.filter((fix) => wall - fix.at < FIX_LIFETIME);
  if (waiting.length === 0) return {state: next(state, {waiting: []}), report: null};
  const [job, ...jobs] = state.jobs;
  const {battery} = waiting[0];
  const body = {
    ...(jobs.length > 0 && {jobs}), fixes: waiting.slice(0, FIXES_PER_REPORT).map((fix) => withoutGaps(fix, correction)),
    ...(Number.isFinite(battery) && battery >= 0 && battery <= 1 && {battery}),
  };
  return {
    state: next(state, {waiting, sentAt: wall, notBefore: null}), report: {job, jobs: state.jobs, body, newest: waiting[0].at},
  };
}

/** Returns the state after a response at `wall`: the reported readings are removed, unless a job may accept them later. */
export function answered(state, report, answer, wall) {
  const refused = answer?.refused ?? [];
  const isRepeated = refused.some(({code}) => PASSING.includes(code));
  const done = next(state, {
    failures: 0, interval: seconds(finite(answer?.intervalSeconds, state.interval)),
    waiting: isRepeated ? state.waiting : newerThan(report, state),
  });
  return withoutEnded(withServerTime(done, answer?.serverTime, wall), report, refused);
}

/**
 * Returns the state with the difference between the clocks, as a response at `wall` shows it: the gateway read its clock after
 * the report was sent. A slow response changes nothing, unless it proves the known difference wrong.
 */
function withServerTime(state, serverTime, wall) {
  const [least, most] = [serverTime - wall, serverTime - state.sentAt];
  const isKnown = least <= state.clockOffset && state.clockOffset <= most;
  // If `least` is greater, the phone's clock was set back meanwhile.
  if (!Number.isFinite(serverTime) || !(least <= most) || isKnown) return state;
  const clockOffset = (least + most) / 2;
  // A reading from before the clock was set back, or from a receiver whose clock is right.
  const isAhead = ({at}) => at > wall + CLOCK_TOLERANCE;
  const waiting = state.waiting.map((fix) => (isAhead(fix) ? {...fix, at: localTime(fix.at, {wall, clockOffset})} : fix));
  return next(state, {clockOffset, waiting: newestOf(waiting)});
}

/**
 * Returns the state without the jobs that this phone no longer reports for. If the app has set the jobs since the report, the
 * rider may have switched travel mode on again, and the next report decides.
 */
function withoutEnded(state, report, refused) {
  const ended = refused.filter(({code}) => ENDING.includes(code)).map(({job}) => job);
  if (ended.length === 0 || state.jobs !== report.jobs) return state;
  const jobs = Object.freeze(state.jobs.filter((job) => !ended.includes(job)));
  return jobs.length > 0 ? next(state, {jobs}) : next(nothing, {clockOffset: state.clockOffset});
}

/** Whether the same readings may be accepted later. */
export const isPassing = (error) => error.retry === true || PASSING.includes(error.code) || error.status === 401;

/**
 * Returns the state after a failure. Readings that the gateway refused are removed, unless the error shows that their time was
 * wrong. The others wait for the next attempt. If it refused all jobs, the error is that of the first.
 */
export function failed(state, report, error, wall, random) {
  const corrected = withServerTime(state, error.serverTime, wall);
  if (Math.abs(corrected.clockOffset - state.clockOffset) > CLOCK_TOLERANCE) return next(corrected, {failures: 0});
  if (!isPassing(error)) {
    const refused = next(state, {failures: 0, interval: LONGEST_INTERVAL, waiting: newerThan(report, state)});
    return withoutEnded(refused, report, [{job: report.job, code: error.code}]);
  }
  const delay = error.retryInMs ?? reconnectDelay(state.failures, null, wall, random);
  return next(state, {failures: state.failures + 1, notBefore: wall + delay});
}

const newerThan = (report, state) => Object.freeze(state.waiting.filter((fix) => fix.at > report.newest));
