// The client for pages and apps: follows jobs, reports positions and watches pools over one WebSocket that reconnects
// automatically. It runs in browsers, Node and React Native, without a build step or dependencies.
//
// Views are values (enroute-view.js), and timing decisions are pure functions (enroute-timing.js). enroute-connection.js owns
// the socket, and enroute-rest.js matches requests with answers. This file passes messages to views. The protocol is
// described in Sources/EnrouteWire, the API in enroute.d.ts.

import {GatewayConnection, TokenRenewal} from './enroute-connection.js';
import {FixQueue, JOB_NAME, closeMeaning, isPlace, localTime} from './enroute-timing.js';
import {EnrouteError, SocketRequests, addresses, badName, request} from './enroute-rest.js';
import {reduce, reducePool, unknownPool, unknownView} from './enroute-view.js';

/** ms until a subscription is repeated, unless the gateway names a time. */
const ASK_AGAIN_AFTER = 1_000;
/** ms until a report is tried again while the socket still buffers the previous one. */
const CONGESTION_PAUSE = 500;

export {EnrouteError};

export class Enroute {
  #options; #gateway; #requests; #listeners = new Map();
  #follows = new Map(); #pools = new Map(); #retries = new Map();
  /** Each `unsubscribe` and `unwatch` that the gateway dropped, by job or zone: the connection is still subscribed. */
  #leaving = new Map();
  /** Jobs whose resumption the gateway dropped. It refuses reports until it has read the next one. */
  #dropped = new Set();
  #fixes = new FixQueue(); #travels = new Set(); #report; #renewal; #last = {};
  /** Why there is no reading since the last one, by job; without a job for all. */
  #reasons = new Map();

  /** @param {import('./enroute').EnrouteOptions} options */
  constructor(options) {
    this.#options = {
      now: () => performance.now(), wall: () => Date.now(), random: Math.random,
      // Called as plain functions, because a browser's timers reject any other receiver than the window.
      timers: {setTimeout: (...all) => setTimeout(...all), clearTimeout: (...all) => clearTimeout(...all)},
      fetch: (...all) => fetch(...all), WebSocket: globalThis.WebSocket, device: `js-${String(Math.random()).slice(2)}`,
      ...options, ...addresses(options),
    };
    if (!this.#options.WebSocket) throw new TypeError('Pass a class as `WebSocket`.');
    this.#gateway = new GatewayConnection(
      this.#options, (message) => this.#received(message), () => this.#connectionChanged(), () => this.#expectsMessages());
    this.#requests = new SocketRequests(this.#options.timers, this.#gateway);
    this.#renewal = new TokenRenewal(this.#options, this.#gateway, (token) => this.refresh(token));
  }

  // ---- the connection ----

  start() {
    for (const follow of this.#follows.values()) {
      if (!follow.isRefusedByConnection) continue;
      // Listeners know the refusal. Without `doubted`, they would not be notified of the next snapshot of an unchanged job.
      follow.view = Object.freeze({...follow.view, refused: null, doubted: undefined});
      follow.isRefusedByConnection = false;
    }
    this.#gateway.start();
  }

  stop() { this.#gateway.stop(); }
  /** Reconnects or checks the connection immediately. For systems without browser events about the network or the app. */
  wake() { this.#gateway.wake(); }

  get connection() { return this.#gateway.connection; }
  /** When the last message was received, in ms since the epoch by the local wall clock; null before the first. */
  get lastMessageAt() { return this.#gateway.lastMessageAt; }

  /** The gateway's time, in ms since the epoch. */
  get serverTime() { return this.#options.wall() + this.#gateway.clockOffset; }
  get #clock() { return {wall: this.#options.wall(), clockOffset: this.#gateway.clockOffset}; }

  on(type, listener) {
    if (!this.#listeners.has(type)) this.#listeners.set(type, new Set());
    this.#listeners.get(type).add(listener);
    return () => { this.#listeners.get(type).delete(listener); };
  }

  async refresh(token) {
    const answer = await this.#requests.send({type: 'refresh', token});
    this.#gateway.renewed({token});
    this.#renewal.plan(this.serverTime);
    return answer;
  }

  // ---- following ----

  follow(job, heard = () => {}) {
    // A wrapper for each call, so that one function can follow twice and stop once.
    const listener = (view, change) => heard(view, change);
    let follow = this.#follows.get(job);
    if (!follow || follow.view.ended || (follow.view.refused && !follow.isRefusedByConnection)) {
      follow = {view: this.#timed(unknownView(job)), listeners: new Set(), isAnswered: false};
      this.#follows.set(job, follow);
      if (JOB_NAME.test(job)) this.#subscribe(follow);
      else queueMicrotask(() => this.#publishView(follow, reduce(follow.view, badName, this.#options.now())));
      queueMicrotask(() => this.#refuseAll());
    } else if (follow.view.known || follow.view.refused) {
      queueMicrotask(() => {
        if (follow.listeners.has(listener)) this.#call(listener, follow.view, follow.view.refused ? 'refused' : 'snapshot');
      });
    }
    follow.listeners.add(listener);
    return {
      get view() { return follow.view; },
      stop: () => {
        if (!follow.listeners.delete(listener) || follow.listeners.size > 0 || this.#follows.get(job) !== follow) return;
        this.#follows.delete(job);
        if (!follow.view.ended && !follow.view.refused) this.#leave(follow, 'subscribe', {job});
      },
    };
  }

  #subscribe(follow, isRepeated = false) {
    const {job, known, epoch, id, ended, refused} = follow.view;
    if (ended || refused || follow.isAnswered || this.#follows.get(job) !== follow) return;
    follow.isRepeated = isRepeated;
    this.#leaveAgain(`job ${job}`);
    this.#gateway.sendOnce({type: 'subscribe', job, ...(known && {since: {epoch, id}})});
  }

  /** Ends a subscription. A request that still waits is withdrawn, but an earlier copy of it may have arrived. */
  #leave({isRepeated}, type, what) {
    if (!this.#gateway.withdraw({type, ...what}) || isRepeated) this.#gateway.sendOnce({type: `un${type}`, ...what});
  }

  watch(zone, listener = () => {}) {
    if (!JOB_NAME.test(zone)) throw new EnrouteError(badName);
    if (this.#pools.has(zone)) throw new Error(`The zone ${zone} is already watched.`);
    const watched = {pool: unknownPool(zone), listener, isAnswered: false};
    this.#pools.set(zone, watched);
    this.#watch(watched);
    return {
      get pool() { return watched.pool; },
      stop: () => {
        if (this.#pools.get(zone) !== watched) return;
        this.#pools.delete(zone);
        if (!watched.pool.refused) this.#leave(watched, 'watch', {zone});
      },
    };
  }

  #watch(watched, isRepeated = false) {
    const {zone, version, refused} = watched.pool;
    if (refused || watched.isAnswered || this.#pools.get(zone) !== watched) return;
    watched.isRepeated = isRepeated;
    this.#leaveAgain(`zone ${zone}`);
    this.#gateway.sendOnce({type: 'watch', zone, ...(version !== null && {since: version})});
  }

  // ---- travelling and reporting ----

  travel(job, active, {resume} = {}) {
    this.#fixes.elsewhere.delete(job);
    // After this call nothing is sent for the job, even if the gateway cannot be reached now.
    if (!active) this.#forget(job);
    const answer = this.#requests.send(this.#travel(job, active, resume));
    // A request that was not sent must not start later: the app is notified that it failed.
    if (active && this.#requests.switchesTravel(job)) this.#travels.add(job);
    return answer;
  }

  #forget(job, isElsewhere) {
    this.#travels.delete(job);
    this.#dropped.delete(job);
    this.#reasons.delete(job);
    if (this.#travels.size === 0) this.#reasons.clear();
    this.#fixes.forget(job, isElsewhere);
  }

  #travel(job, active, resume) { return {type: 'travel', job, active, device: this.#options.device, ...(resume && {resume})}; }

  publish(jobs, fix) {
    const all = [jobs].flat();
    this.#fixes.add(all, {...fix, at: localTime(fix.at, this.#clock)});
    if (isPlace(fix)) for (const job of [...all, undefined]) this.#reasons.delete(job);
    this.#reportWhenDue();
  }

  availability(status, {device} = {}) {
    return this.#requests.send({type: 'availability', status, ...(device && {device})});
  }

  reportUnavailable(reason, job) {
    if (!job) this.#reasons.clear();
    this.#reasons.set(job, reason);
    return this.#notify({type: 'unavailable', ...(job && {job}), reason});
  }

  presence({lat, lon, device} = {}) {
    return this.#notify({type: 'presence', ...(isPlace({lat, lon}) && {lat, lon}), ...(device && {device})});
  }

  #reportWhenDue() {
    const due = this.#fixes.due(this.#options.now());
    if (due === null || !this.#gateway.isOpen || this.#report !== undefined || this.#dropped.size > 0) return;
    const wait = due === 0 && this.#gateway.isCongested ? CONGESTION_PAUSE : due;
    if (wait > 0) {
      this.#report = this.#options.timers.setTimeout(() => {
        this.#report = undefined;
        this.#reportWhenDue();
      }, wait);
      return;
    }
    const report = this.#fixes.next(this.#options.now(), this.#clock);
    if (report) this.#gateway.send(report);
  }

  /** Sends a message whose sender does not wait for the answer. @returns whether the gateway accepted it */
  async #notify(message) {
    try {
      await this.#requests.send(message);
      return true;
    } catch (error) {
      const {code, retry} = error;
      this.#emit('error', {replyTo: message.type, job: message.job, code, message: error.message, retry});
      return false;
    }
  }

  rest(method, path, options) { return request(this.#options, method, path, options); }

  // ---- received messages ----

  #received(message) {
    const follow = this.#follows.get(message.job);
    if (message.replyTo === 'travel') this.#dropped.delete(message.job);
    // What was received before belongs to an earlier subscription.
    if (message.replyTo === 'unsubscribe' && follow) follow.isAnswered = false;
    switch (message.type) {
      case 'welcome': this.#welcomed(); break;
      case 'pong': this.#updateClock(); break;
      case 'rate':
        this.#fixes.interval = message.intervalSeconds;
        this.#options.timers.clearTimeout(this.#report);
        this.#report = undefined;
        break;
      case 'ok':
        if (message.replyTo === 'location') this.#fixes.answered(message.seq);
        else this.#requests.settle(message);
        break;
      case 'error': this.#refused(message); break;
      case 'pool': case 'rider': this.#updateZone(message); break;
      default: if (message.job !== undefined) this.#updateJob(message);
    }
    this.#reportWhenDue();
    if (message.type !== 'error') this.#emit(message.type, message);
  }

  #welcomed() {
    this.#updateClock();
    this.#renewal.plan(this.serverTime);
    this.#subscribeAll(false);
    for (const job of this.#travels) this.#resume(job);
  }

  /** The answers are not awaited: a refusal is an event. */
  async #resume(job) {
    try {
      await this.#requests.send(this.#travel(job, true, true), false);
      const reason = this.#reasons.get(job) ?? this.#reasons.get();
      if (reason) await this.#requests.send({type: 'unavailable', job, reason}, false);
    } catch {}
  }

  #updateClock() {
    for (const follow of this.#follows.values()) follow.view = this.#timed(follow.view);
  }

  #timed(view) { return Object.freeze({...view, clockOffset: this.#gateway.clockOffset}); }

  #updateJob(message) {
    const follow = this.#follows.get(message.job);
    if (!follow) return;
    if (/subscribed|reset/.test(message.type)) follow.isAnswered = true;
    if (message.type === 'ended') this.#forget(message.job);
    const {now, wall, fastest} = this.#options;
    this.#publishView(follow, reduce(follow.view, message, now(), {fastest, wall: wall()}));
  }

  #publishView(follow, {view, change}) {
    follow.view = view;
    if (change !== null) for (const listener of [...follow.listeners]) this.#call(listener, view, change);
  }

  #updateZone(message) {
    const watched = this.#pools.get(message.zone);
    if (!watched) return;
    watched.isAnswered = true;
    const {pool, change} = reducePool(watched.pool, message);
    watched.pool = pool;
    if (change !== null) this.#call(watched.listener, pool, change);
  }

  #refused(message) {
    const {replyTo, code, job, zone, retry} = message;
    const subject = this.#follows.get(job) ?? this.#pools.get(zone);
    const name = job ? `job ${job}` : `zone ${zone}`;
    if (/^(un)?(subscribe|watch)$/.test(replyTo)) {
      // The connection is already subscribed, because a message was dropped.
      if (code === 'bad_request' && (this.#retries.has('all') || this.#leaving.has(name))) return;
      if (retry) {
        if (/^un/.test(replyTo)) this.#leaving.set(name, {type: replyTo, job, zone});
        return this.#retryLater(name, message, () => this.#askAgain(name, job, zone));
      }
      if (subject?.isAnswered === false) return zone ? this.#updateZone(message) : this.#updateJob(message);
    }
    if (replyTo === 'location') {
      if (this.#dropped.has(job)) return this.#fixes.repeatUnanswered();
      this.#fixes.answered(Infinity);
    }
    if (replyTo === '' && retry) this.#retryLater('all', message, () => this.#subscribeAll(true));
    const isHandled = this.#requests.settle(message);
    // Whether this device reports for the job. If a later request was sent, its answer decides.
    if (!this.#requests.switchesTravel(job)) {
      if (/other_device|travel_mode_off/.test(code) || (replyTo === 'travel' && !retry)) {
        this.#forget(job, code === 'other_device');
      } else if (replyTo === 'travel' && !isHandled && this.#travels.has(job)) {
        if (code === 'rate_limited') this.#dropped.add(job);
        return this.#retryLater(`travel ${job}`, message, () => this.#travels.has(job) && this.#resume(job));
      }
    }
    if (!isHandled) this.#emit('error', message);
  }

  /** Repeats what the gateway dropped. A new subscription replaces the earlier one. */
  #askAgain(name, job, zone) {
    if (this.#follows.has(job)) this.#subscribe(this.#follows.get(job));
    else if (this.#pools.has(zone)) this.#watch(this.#pools.get(zone));
    else this.#leaveAgain(name);
  }

  #leaveAgain(name) {
    if (this.#leaving.has(name)) this.#gateway.sendOnce(this.#leaving.get(name));
    this.#leaving.delete(name);
  }
  /** @param isRepeated an earlier subscription is unanswered, and may be lost */
  #subscribeAll(isRepeated) {
    for (const follow of this.#follows.values()) this.#subscribe(follow, isRepeated);
    for (const watched of this.#pools.values()) this.#watch(watched, isRepeated);
  }

  #retryLater(name, {retryInMs = ASK_AGAIN_AFTER}, action) {
    this.#options.timers.clearTimeout(this.#retries.get(name));
    this.#retries.set(name, this.#options.timers.setTimeout(action, retryInMs));
  }

  /** Whether the gateway should be sending messages: positions of a live job, or the answer to a report. */
  #expectsMessages() {
    const isLive = ({view}) => view.tracking === 'live' && !view.ended && !view.refused;
    return this.#fixes.isUnanswered || [...this.#follows.values()].some(isLive);
  }

  // ---- connection changes ----

  #connectionChanged() {
    const connection = this.connection;
    if (!this.#gateway.isOpen) this.#disconnected();
    this.#refuseAll();
    if (JSON.stringify(connection) === JSON.stringify(this.#last)) return;
    this.#last = connection;
    this.#emit('connection', connection);
  }

  #disconnected() {
    for (const timer of [this.#report, ...this.#retries.values()]) this.#options.timers.clearTimeout(timer);
    this.#report = undefined;
    this.#renewal.cancel();
    this.#retries.clear();
    for (const subject of [...this.#follows.values(), ...this.#pools.values()]) subject.isAnswered = false;
    this.#leaving.clear();
    this.#dropped.clear();
    this.#fixes.repeatUnanswered();
    this.#requests.disconnected();
  }

  /** A session that may not reconnect must not keep what it received, unless its token expired, which can be renewed. */
  #refuseAll() {
    const {state, close: {code, reason} = {}} = this.connection;
    const {error} = closeMeaning(code);
    if (state !== 'refused' || error === 'token_expired') return;
    for (const follow of this.#follows.values()) {
      if (follow.view.ended || follow.view.refused) continue;
      follow.isRefusedByConnection = true;
      this.#publishView(follow, reduce(follow.view, {type: 'error', code: error, message: reason}, this.#options.now()));
    }
  }

  #emit(type, event) {
    for (const listener of [...this.#listeners.get(type) ?? []]) this.#call(listener, event);
  }

  /** An error in a listener must not affect the others or the client. */
  #call(listener, ...all) {
    try {
      listener(...all);
    } catch (error) {
      (globalThis.reportError ?? console.error)(error);
    }
  }
}
