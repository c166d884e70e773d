// Travel mode: performs the actions of rider-permission.js for all jobs that the rider travels for, and reports to the
// gateway why no location arrives. The location is read only while a job travels, apart from occasional rough readings of
// riders who are online and allowed it.

import {tabStorage} from './page-storage.js';
import {failEvent, step, wishEvent} from './rider-permission.js';
import {ScreenLock} from './rider-device.js';
import {Location, PRESENCE_EVERY} from './rider-location.js';
import {Unavailability} from './rider-unavailability.js';

/** The rider's answer and the travelling jobs, stored in this tab so that they survive a reload. Neither is a location. */
const ANSWER_KEPT_AS = 'enroute.location';
const JOBS_KEPT_AS = 'enroute.travelling';
/** The wish to use the location without a job: to be offered nearby tasks. */
export const PRESENCE = null;
/** Wishes that need no error panel. */
const MAY_START = ['wish.prompt', 'wish.granted'];

export class Travel {
  phase = 'off';
  /** The job for which the panel is open; `PRESENCE` without a job. */
  wish = PRESENCE;
  /** The end of the sharing time for each job, in ms since the epoch by the gateway's clock. */
  travelling = new Map();
  lastFixAt = null;
  /** Whether the gateway has confirmed a report since the readings began. */
  isConfirmed = false;
  /** Where the rider was last: `{lat, lon, acc}`. Only for the map of this page; it is never stored. */
  place = null;
  /** What the rider wanted when the device could not be located; null for travel mode. */
  anyway = null;

  #wanted = new Set();
  #starting = new Set();
  /** Jobs that the rider switched off but the gateway may not know of. Nothing of them is sent. */
  #switchedOff = new Set();
  #isPresent = false;
  #isPaused = false;
  #presence = null;
  #screen = new ScreenLock();

  /**
   * @param enroute the connection; this class adds its listeners
   * @param {{changed: () => void, failed: (job: string, error: Error, how?: {isOff: boolean}) => void, settled: (job: string)
   *   => void, panel: () => void, allowed: () => void, presence: (fix: object) => void, inOrder: (jobs: string[]) =>
   *   string[]}} on how the page reacts; `isOff`: sharing stopped, but the gateway could not be notified; `settled`: it has
   *   been notified since; `inOrder`: in the order of the stops
   */
  constructor(enroute, on) {
    Object.assign(this, {enroute, on});
    this.location = new Location((reading) => this.#read(reading), (state) => this.#happened(`changed.${state}`));
    this.unavailability = new Unavailability(
      (reason) => enroute.reportUnavailable(reason), () => this.travelling.size > 0, on.changed);
    // This does not ask the rider. From here on the browser reports changes.
    this.location.permission();
    enroute.on('welcome', () => this.#again());
    enroute.on('restored', () => this.#tellAllOff());
    enroute.on('ok', ({replyTo}) => {
      if (replyTo !== 'location' || this.isConfirmed || !this.location.isWatching) return;
      this.isConfirmed = true;
      on.changed();
    });
    enroute.on('error', ({replyTo, code, job, reason}) => {
      if (reason === 'clock') this.unavailability.isClockWrong = true;
      if (replyTo === 'location' && ['travel_mode_off', 'other_device'].includes(code)) this.ended(job);
      if (code === 'other_device') on.failed(job, {code});
    });
  }

  // ---- the rider's actions ----

  /** Activates travel mode, or without a job the rough location of a rider who is online. */
  async activate(job) {
    this.wish = job;
    this.anyway = null;
    const event = this.#wishEvent(await this.location.permission());
    // Riders who are only online get the explanation once and no error panels.
    if (job === PRESENCE && !MAY_START.includes(event)) return;
    this.#wanted.add(job);
    this.#switchedOff.delete(job);
    this.#happened(event);
    if (job !== PRESENCE && !this.#isOn(job)) this.on.panel();
  }

  /** Whether setting off may start travel mode, or the browser refuses the location. */
  get mayStart() { return this.location.lastPermission !== 'denied'; }

  /** The rider set off. Unlike a tap on the switch, this shows no panel to riders who refused before. */
  async setOff(job) {
    if (this.stateOf(job) !== 'off') return;
    if (MAY_START.includes(this.#wishEvent(await this.location.permission()))) await this.activate(job);
  }

  /** Stops sharing a job immediately, even if the gateway cannot be reached; the request is repeated later. */
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

  /** The rider accepted the explanation. The browser shows its question only within this tap. */
  consent() { this.#happened('consent'); }

  cancel() { this.#happened('cancel'); }

  /** "I have allowed it": checks the permission, or trusts the rider in browsers that do not report it. */
  async retry() {
    tabStorage().removeItem(ANSWER_KEPT_AS);
    const permission = await this.location.permission();
    this.#wanted.add(this.wish);
    for (const job of this.travelling.keys()) this.#wanted.add(job);
    const mayAsk = ['refused', 'dismissed'].includes(this.phase) && ['prompt', 'unknown'].includes(permission);
    this.#happened(mayAsk ? 'consent' : this.#wishEvent(permission));
    return this.phase === 'sharing';
  }

  /** Sets whether the rider is online and so is offered nearby tasks. */
  setPresent(isPresent) {
    if (this.#isPresent === isPresent) return;
    this.#isPresent = isPresent;
    this.#endPresence();
    if (isPresent) this.#beginPresence();
  }

  /** Stops reading the location while nobody is signed in. */
  pause() {
    this.#isPaused = true;
    this.#unwatch();
    this.#endPresence();
    this.on.changed();
  }

  /** The trip of a job ended. */
  ended(job) {
    this.#keep(kept().filter((other) => other !== job));
    if (!this.travelling.delete(job)) return;
    if (this.travelling.size === 0) {
      this.lastFixAt = null;
      this.#unwatch();
      this.unavailability.over();
      this.#happened('stop');
    }
    this.on.changed();
  }

  /** Continues after a reload, if that is possible without a question. */
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

  /** Whether a map app will be able to navigate. Locates the phone only if that is allowed. */
  async locates() {
    if (this.phase === 'services') return false;
    if (this.location.isWatching || await this.location.permission() !== 'granted') return true;
    return this.location.locates();
  }

  /** Shows that the device cannot be located. @param anyway continues without a location */
  servicesOff(anyway) {
    this.wish = PRESENCE;
    this.anyway = anyway;
    this.#happened('device.off');
    this.on.panel();
  }

  // ---- events ----

  #wishEvent = (permission) => {
    const {isSupported} = this.location;
    const before = tabStorage().getItem(ANSWER_KEPT_AS);
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
      case 'unwatch': return this.#unwatch();
      case 'report': return this.unavailability.report(detail);
      case 'remember': return tabStorage().setItem(ANSWER_KEPT_AS, detail);
      case 'forget': return tabStorage().removeItem(ANSWER_KEPT_AS);
      case 'tell': return this.on.allowed();
    }
  };

  #unwatch = () => {
    this.location.unwatch();
    this.#screen.want(false);
    this.isConfirmed = false;
  };

  #begin = () => {
    const wanted = [...this.#wanted, ...this.travelling.keys()].filter((job) => job !== PRESENCE);
    this.#wanted.clear();
    this.#beginPresence();
    // Riders who are only online need no continuous readings.
    if (wanted.length === 0) this.#happened('stop');
    for (const job of new Set(wanted)) this.#start(job);
  };

  /** @param {boolean} isAgain travel mode was on before the connection changed, so a network error is not shown */
  #start = async (job, isAgain = false) => {
    if (this.#starting.has(job)) return;
    this.#starting.add(job);
    this.on.changed();
    try {
      // Only a tap takes over from another device, and only for a job that does not travel here.
      const {deadline} = await this.enroute.travel(job, true, {resume: this.travelling.has(job)});
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

  /** After reconnecting, switches travel mode on again, which does not extend the sharing time limit. */
  #again = () => {
    this.#isPaused = false;
    this.#beginPresence();
    this.#tellAllOff();
    if (this.phase === 'sharing') for (const job of this.travelling.keys()) this.#start(job, true);
  };

  /** Another device may have taken over since the tap, and then continues. */
  #tellAllOff = () => {
    for (const job of this.#switchedOff) {
      this.#tellOff(job, {resume: true}).catch((error) => {
        // Everything else is repeated after reconnecting.
        if (error.code === 'other_device') this.on.failed(job, error);
      });
    }
  };

  #tellOff = async (job, how) => {
    let isHeard = true;
    try {
      await this.enroute.travel(job, false, how);
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
    this.place = {lat: fix.lat, lon: fix.lon, acc: fix.acc};
    this.unavailability.found(fix.acc);
    const jobs = this.on.inOrder([...this.travelling.keys()].filter((job) => !this.#switchedOff.has(job)));
    // With a low battery the gateway asks for fewer reports.
    const {level: battery} = this.unavailability.battery;
    if (jobs.length > 0 && this.location.isWatching) this.enroute.publish(jobs, {...fix, battery});
    this.#happened('fix');
  };

  // ---- riders who are online ----

  #beginPresence = () => {
    if (!this.#isPresent || this.#isPaused || this.#presence !== null) return;
    if (this.location.lastPermission !== 'granted') return;
    const look = () => {
      if (document.hidden || this.travelling.size > 0 || this.location.lastPermission !== 'granted') return;
      this.location.roughly((fix) => {
        this.place = {lat: fix.lat, lon: fix.lon, acc: fix.acc};
        this.on.presence(fix);
        this.on.changed();
      });
    };
    look();
    this.#presence = setInterval(look, PRESENCE_EVERY);
  };

  #endPresence = () => {
    clearInterval(this.#presence);
    this.#presence = null;
  };

  /** Stores the travelling jobs, including those that have not been resumed yet. */
  #keep = (jobs) => { tabStorage().setItem(JOBS_KEPT_AS, JSON.stringify(jobs)); };
}

/** Whether there was no response, so that the request may or may not have been carried out. */
const isUnheard = ({code}) => ['network', 'unavailable'].includes(code);

function kept() {
  try {
    return JSON.parse(tabStorage().getItem(JOBS_KEPT_AS)) ?? [];
  } catch {
    return [];
  }
}
