// Travel mode: carries out what the table of rider-permission.js says, for as many jobs as the rider travels for, and
// tells the gateway why nothing comes when nothing comes. The location is read while a job travels and at no other
// time, but for a rough look now and then of a rider who is online and allowed it.

import {failEvent, step, wishEvent} from './rider-permission.js';
import {ScreenLock} from './rider-device.js';
import {Location, PRESENCE_EVERY} from './rider-location.js';
import {Unavailability} from './rider-unavailability.js';

/** What the rider answered, and which jobs it travels for, in this tab: both outlive a reload, neither is a place. */
const ANSWER_KEPT_AS = 'enroute.location';
const JOBS_KEPT_AS = 'enroute.travelling';
/** What is wished for without a job: to be offered tasks nearby. */
export const PRESENCE = null;

export class Travel {
  phase = 'off';
  /** The job that the rider answers the panel for; `PRESENCE`: none. */
  wish = PRESENCE;
  /** Job → when its time is over, ms since the epoch, by the gateway's clock. */
  travelling = new Map();
  lastFixAt = null;
  /** What the rider wanted when it was told that its device does not locate; null: travel mode. */
  anyway = null;

  #wanted = new Set();
  #starting = new Set();
  /** Jobs that the rider has switched off, and the gateway may not know it: nothing is shared of them. */
  #switchedOff = new Set();
  #isPresent = false;
  #isPaused = false;
  #presence = null;
  #screen = new ScreenLock();

  /**
   * @param enroute the connection; its listeners are here
   * @param {{changed: () => void, failed: (job: string, error: Error, how?: {isOff: boolean}) => void,
   *   settled: (job: string) => void, panel: () => void, allowed: () => void, presence: (fix: object) => void}} on
   *   what the page does about it; `isOff`: nothing is shared here any more, only the gateway was not told; `settled`:
   *   it knows now what is so
   */
  constructor(enroute, on) {
    Object.assign(this, {enroute, on});
    this.location = new Location((reading) => this.#read(reading), (state) => this.#happened(`changed.${state}`));
    this.unavailability = new Unavailability(
      (reason, job) => enroute.reportUnavailable(reason, job), () => this.travelling.size > 0, on.changed);
    // Asks nobody; from here on the browser tells when it changes.
    this.location.permission();
    enroute.on('welcome', () => this.#again());
    enroute.on('restored', () => this.#tellAllOff());
    enroute.on('error', ({replyTo, code, job}) => { if (replyTo === 'location' && code === 'travel_mode_off') this.ended(job); });
  }

  // ---- what the rider does ----

  /** "Activate Travel Mode", or, without a job, the location of who is online. */
  async activate(job) {
    this.wish = job;
    this.anyway = null;
    const event = this.#wishEvent(await this.location.permission());
    // Who is merely online is explained to, once; it is not bothered with anything else.
    if (job === PRESENCE && !['wish.prompt', 'wish.granted'].includes(event)) return;
    this.#wanted.add(job);
    this.#switchedOff.delete(job);
    this.#happened(event);
    if (job !== PRESENCE && !this.#isOn(job)) this.on.panel();
  }

  /** From the tap on nothing of the job is shared, whether the gateway can be told or not: it is told again. */
  async deactivate(job) {
    this.#starting.add(job);
    this.#switchedOff.add(job);
    this.on.changed();
    try {
      await this.#tellOff(job);
      this.ended(job);
    } catch (error) {
      if (isUnheard(error)) this.ended(job);
      this.on.failed(job, error, {isOff: isUnheard(error)});
    } finally {
      this.#starting.delete(job);
      this.on.changed();
    }
  }

  /** Said yes to our explanation: the browser's question comes within this very tap. */
  consent() { this.#happened('consent'); }

  cancel() { this.#happened('cancel'); }

  /** "I have allowed it": the browser is believed, and where it can not say, the rider. */
  async retry() {
    sessionStorage.removeItem(ANSWER_KEPT_AS);
    const permission = await this.location.permission();
    this.#wanted.add(this.wish);
    for (const job of this.travelling.keys()) this.#wanted.add(job);
    const mayAsk = ['refused', 'dismissed'].includes(this.phase) && ['prompt', 'unknown'].includes(permission);
    this.#happened(mayAsk ? 'consent' : this.#wishEvent(permission));
    return this.phase === 'sharing';
  }

  /** Online or not: who is, is offered what is near. */
  setPresent(isPresent) {
    if (this.#isPresent === isPresent) return;
    this.#isPresent = isPresent;
    this.#endPresence();
    if (isPresent) this.#beginPresence();
  }

  /** Nobody is signed in: the location is not read until somebody is, and then goes on. */
  pause() {
    this.#isPaused = true;
    this.location.unwatch();
    this.#endPresence();
    this.#screen.want(false);
    this.on.changed();
  }

  /** The journey of a job is over, whoever ended it. */
  ended(job) {
    this.#keep(kept().filter((other) => other !== job));
    if (!this.travelling.delete(job)) return;
    if (this.travelling.size === 0) {
      this.location.unwatch();
      this.#screen.want(false);
      this.unavailability.over();
      this.#happened('stop');
    }
    this.on.changed();
  }

  /** After the page was loaded again: goes on where it was, if it may without a question. */
  async resume(job) {
    if (this.travelling.has(job) || !kept().includes(job)) return;
    this.travelling.set(job, null);
    if (await this.location.permission() === 'granted') await this.activate(job);
    else this.on.changed();
  }

  /** @returns {'off'|'starting'|'on'|'interrupted'} */
  stateOf(job) {
    if (this.#starting.has(job)) return 'starting';
    if (!this.travelling.has(job)) return 'off';
    return this.location.isWatching ? 'on' : 'interrupted';
  }

  /** Whether a map app can be expected to find its way; asks only a phone that may be asked. */
  async locates() {
    if (this.phase === 'services') return false;
    if (this.location.isWatching || await this.location.permission() !== 'granted') return true;
    return this.location.locates();
  }

  /** The rider is to be told that its device does not locate; `anyway` goes on without. */
  servicesOff(anyway) {
    this.wish = PRESENCE;
    this.anyway = anyway;
    this.#happened('device.off');
    this.on.panel();
  }

  // ---- what happens ----

  #wishEvent = (permission) => {
    const {isSupported} = this.location;
    const before = sessionStorage.getItem(ANSWER_KEPT_AS);
    return wishEvent({isSecure: isSecureContext, isSupported, permission, before});
  };

  #isOn = (job) => { return this.travelling.has(job) && this.phase === 'sharing'; };

  #happened = (event) => {
    const {phase, actions} = step(this.phase, event);
    const isOther = phase !== this.phase;
    this.phase = phase;
    for (const action of actions) this.#do(...action.split('.'));
    if (isOther) this.on.panel();
    this.on.changed();
  };

  #do = (action, detail) => {
    switch (action) {
      case 'ask': return this.location.ask();
      case 'begin': return this.#begin();
      case 'drop': return this.#wanted.clear();
      case 'unwatch':
        this.location.unwatch();
        return this.#screen.want(false);
      case 'report': return this.unavailability.report(detail);
      case 'remember': return sessionStorage.setItem(ANSWER_KEPT_AS, detail);
      case 'forget': return sessionStorage.removeItem(ANSWER_KEPT_AS);
      case 'tell': return this.on.allowed();
    }
  };

  #begin = () => {
    const wanted = [...this.#wanted, ...this.travelling.keys()].filter((job) => job !== PRESENCE);
    this.#wanted.clear();
    this.#beginPresence();
    // Who is only online is looked for now and then; nothing is shared that could be taken back.
    if (wanted.length === 0) this.#happened('stop');
    for (const job of new Set(wanted)) this.#start(job);
  };

  /** @param {boolean} isAgain it is on, and was so on the connection before: what is not heard now is said again */
  #start = async (job, isAgain = false) => {
    if (this.#starting.has(job)) return;
    this.#starting.add(job);
    this.on.changed();
    try {
      const {deadline} = await this.enroute.travel(job, true);
      this.travelling.set(job, deadline ?? null);
      this.#keep([...new Set([...kept(), job])]);
      if (this.phase === 'sharing') {
        this.location.watch();
        this.#screen.want(true);
      }
      this.on.settled(job);
    } catch (error) {
      if (!isUnheard(error)) this.ended(job);
      if (this.travelling.size === 0) this.#happened('stop');
      if (!isAgain || !isUnheard(error)) this.on.failed(job, error);
    } finally {
      this.#starting.delete(job);
      this.on.changed();
    }
  };

  /** The connection is another one: the gateway is told anew that we travel, which costs no time of the four hours. */
  #again = () => {
    this.#isPaused = false;
    this.#beginPresence();
    this.#tellAllOff();
    const jobs = [...this.travelling.keys()];
    if (this.phase !== 'sharing') return this.unavailability.explain(jobs);
    Promise.all(jobs.map((job) => this.#start(job, true))).then(() => this.unavailability.again());
  };

  #tellAllOff = () => {
    for (const job of this.#switchedOff) this.#tellOff(job).catch(() => { /* next time, or it is over */ });
  };

  #tellOff = async (job) => {
    let isHeard = true;
    try {
      await this.enroute.travel(job, false);
    } catch (error) {
      isHeard = !isUnheard(error);
      throw error;
    } finally {
      if (isHeard) {
        this.#switchedOff.delete(job);
        this.on.settled(job);
      }
    }
  };

  #read = ({fix, code, permission}) => {
    if (!fix) return this.#happened(failEvent(code, permission));
    this.lastFixAt = performance.now();
    this.unavailability.found(fix.acc);
    const jobs = [...this.travelling.keys()].filter((job) => !this.#switchedOff.has(job));
    // With little battery the gateway asks for fewer reports.
    const {level: battery} = this.unavailability.battery;
    if (jobs.length > 0 && this.location.isWatching) this.enroute.publish(jobs, {...fix, battery});
    this.#happened('fix');
  };

  // ---- who is online ----

  #beginPresence = () => {
    if (!this.#isPresent || this.#isPaused || this.#presence !== null) return;
    if (this.location.lastPermission !== 'granted') return;
    const look = () => {
      if (document.hidden || this.travelling.size > 0 || this.location.lastPermission !== 'granted') return;
      this.location.roughly(this.on.presence);
    };
    look();
    this.#presence = setInterval(look, PRESENCE_EVERY);
  };

  #endPresence = () => {
    clearInterval(this.#presence);
    this.#presence = null;
  };

  /** Also of jobs that have not gone on yet. */
  #keep = (jobs) => { sessionStorage.setItem(JOBS_KEPT_AS, JSON.stringify(jobs)); };
}

/** Nobody refused: it may have been done or not, and may be done later. */
const isUnheard = ({code}) => ['network', 'unavailable'].includes(code);

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(JOBS_KEPT_AS)) ?? [];
  } catch {
    return [];
  }
}
