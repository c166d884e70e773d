// The subpath `@enroute/client/react-native`: reports a rider's position while the app is in the background, where no WebSocket
// stays open and timers stop. It accepts the events of expo-location and of react-native-background-geolocation and depends on
// neither. The decisions are in background-queue.js; this file performs them, one request at a time.

import {answered, due, failed, nothing, reported, stateOf, textOf, withFixes, withJobs} from './background-queue.js';
import {EnrouteError, request} from './enroute-rest.js';

export {EnrouteError};

export class BackgroundReporter {
  #options; #state = nothing; #loaded = null; #sending = null; #timer; #saved = Promise.resolve();

  /** @param {import('./react-native').BackgroundOptions} options */
  constructor(options) {
    const {gateway} = options;
    if (!/^https?:\/\/[^/]/.test(gateway ?? '')) {
      throw new TypeError(`The option \`gateway\` must be an address like https://track.example, not ${gateway}.`);
    }
    this.#options = {
      wall: () => Date.now(), random: Math.random, onOutcome: () => {}, onStorageError: () => {},
      timers: {setTimeout: (action, delay) => setTimeout(action, delay), clearTimeout: (timer) => clearTimeout(timer)},
      fetch: (url, request) => globalThis.fetch(url, request),
      ...options, rest: `${gateway.replace(/\/+$/, '')}/api/v1`,
    };
  }

  get jobs() { return this.#state.jobs; }

  get intervalSeconds() { return this.#state.interval; }

  get waiting() { return this.#state.waiting.length; }

  async setJobs(jobs, {clockOffset = undefined} = {}) {
    await this.#load();
    this.#state = withJobs(this.#state, jobs);
    if (Number.isFinite(clockOffset)) this.#state = Object.freeze({...this.#state, clockOffset});
    if (jobs.length === 0) this.#unplan();
    await this.#save();
  }

  async report(fixes) {
    await this.#load();
    this.#state = withFixes(this.#state, [fixes].flat(), this.#options.wall());
    // Stored before anything is sent: the system may end the app at any time.
    await this.#save();
    return this.flush();
  }

  async flush() {
    await this.#load();
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
      this.#plan();
    });
    return this.#sending;
  }

  async explain(reason) {
    await this.#load();
    const {jobs} = this.#state;
    const answers = await Promise.allSettled(jobs.map((job) => request(
      this.#options, 'PUT', `/jobs/${job}/unavailable`, {body: {reason, ...this.#device}})));
    return jobs.length > 0 && answers.every(({status}) => status === 'fulfilled');
  }

  /** The member of a request that names the phone. */
  get #device() { return this.#options.device && {device: this.#options.device}; }

  // ---- sending ----

  async #send() {
    const {wall, random} = this.#options;
    if (due(this.#state, wall()) !== 0) return this.#outcome(false);
    const {state, report} = reported(this.#state, wall());
    this.#state = state;
    if (!report) return this.#outcome(false);
    let outcome;
    try {
      const {body} = await request(this.#options, 'POST', `/jobs/${report.job}/locations`, {
        body: {...report.body, ...this.#device},
      });
      this.#state = answered(this.#state, report, body, wall());
      outcome = this.#outcome(true, {...body, error: null});
    } catch (error) {
      // Whatever a gateway or a proxy responds, a background task must not fail.
      const reason = error instanceof EnrouteError ? error : new EnrouteError({code: 'internal', message: String(error)});
      this.#state = failed(this.#state, report, reason, wall(), random);
      outcome = this.#outcome(false, {error: reason});
    }
    await this.#save();
    try { this.#options.onOutcome(outcome); } catch (error) { console.error(error); }
    return outcome;
  }

  #outcome(sent, {accepted = [], held = [], stale = [], refused = [], error = null} = {}) {
    return Object.freeze({sent, accepted, held, stale, refused, error, waiting: this.#state.waiting.length});
  }

  /** The rest is sent when it is due, if the system lets the app run until then; otherwise with the next event. */
  #plan() {
    this.#unplan();
    const wait = due(this.#state, this.#options.wall());
    if (wait !== null) this.#timer = this.#options.timers.setTimeout(() => { this.flush(); }, wait);
  }

  #unplan() { this.#options.timers.clearTimeout(this.#timer); }

  // ---- storing ----

  #load() {
    this.#loaded ??= (async () => {
      try {
        this.#state = stateOf(await this.#options.storage?.load());
      } catch (error) {
        this.#options.onStorageError(error);
      }
    })();
    return this.#loaded;
  }

  /** Saves one after the other, so that an older state never replaces a newer one. */
  #save() {
    this.#saved = this.#saved.then(async () => {
      try {
        await this.#options.storage?.save(textOf(this.#state, this.#options.wall()));
      } catch (error) {
        this.#options.onStorageError(error);
      }
    });
    return this.#saved;
  }
}

// ---- events of expo-location ----

const orNull = (value) => (Number.isFinite(value) && value >= 0 ? value : null);

/** Returns the fixes of an event: `{locations}`, or a location. iOS reports -1 for what it does not know. */
export function fixesOfExpo(data) {
  return [data?.locations ?? data ?? []].flat().map(({coords, timestamp, mocked}) => ({
    at: timestamp, lat: coords.latitude, lon: coords.longitude, acc: orNull(coords.accuracy), spd: orNull(coords.speed),
    hdg: orNull(coords.heading), ...(mocked === true && {mock: true}),
  }));
}

/** Returns the function for `TaskManager.defineTask`. */
export function expoTask(reporter) {
  return async ({data, error} = {}) => {
    if (!error) return reporter.report(fixesOfExpo(data));
    const isDenied = /denied|permission|authoriz/i.test(`${error.code} ${error.message}`);
    return reporter.explain(isDenied ? 'permission_denied' : 'no_fix');
  };
}

// ---- events of react-native-background-geolocation ----

/** `AUTHORIZATION_STATUS_DENIED` and `AUTHORIZATION_STATUS_RESTRICTED` of that library. */
const DENIED = [1, 2];

/** Returns the fix of a location. `battery` is left out while the phone is charging. */
export function fixOfBackgroundGeolocation({coords, timestamp, battery, mock}) {
  return {
    at: typeof timestamp === 'number' ? timestamp : Date.parse(timestamp), lat: coords.latitude, lon: coords.longitude,
    acc: orNull(coords.accuracy), spd: orNull(coords.speed), hdg: orNull(coords.heading),
    ...(mock === true && {mock}), ...(battery && !battery.is_charging && {battery: orNull(battery.level)}),
  };
}

/**
 * Returns the function for `BackgroundGeolocation.registerHeadlessTask`, which receives `{name, params}`. Events about anything
 * else than locations and permissions are ignored.
 */
export function backgroundGeolocationTask(reporter) {
  return async ({name, params} = {}) => {
    // A sample was measured on the way to a better reading, which follows.
    const location = name === 'location' ? params : name === 'heartbeat' ? params?.location : null;
    if (location && !location.sample) return reporter.report(fixOfBackgroundGeolocation(location));
    if (name !== 'providerchange') return null;
    if (params.enabled === false) return reporter.explain('services_disabled');
    return DENIED.includes(params.status) ? reporter.explain('permission_denied') : null;
  };
}
