// The rider's steps to which the gateway has not responded, one for each job: those taken without a connection, and final ones
// that the rider can still undo. They are stored in this tab, so they survive a reload, and are sent when the gateway responds
// again. A step that has waited too long is dropped, because the situation has changed.

import {tabStorage} from './page-storage.js';

const KEPT_AS = 'enroute.steps';
/** ms for which a step waits. The gateway recognizes a repeated request for longer. */
export const WAITS_FOR = 3_600_000;
/** ms within which a rider can undo a final step. */
export const UNDO_WITHIN = 10_000;

/** Returns a new key by which the gateway recognizes a repeated request. */
export const requestKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

function stored() {
  try {
    return new Map(Object.entries(JSON.parse(tabStorage().getItem(KEPT_AS)) ?? {}));
  } catch {
    return new Map();
  }
}

export class StepQueue {
  #waiting = stored();
  #sending = new Set();

  /** Returns `{step, key, at, due}`, or undefined. */
  get(job) { return this.#waiting.get(job); }

  /** The step could not be sent, or is not to be sent before `due`, in ms since the epoch. */
  add(job, {step, key}, due = 0) {
    this.#sending.delete(job);
    this.#waiting.set(job, {step, key, at: this.#waiting.get(job)?.at ?? Date.now(), due});
    this.#store();
  }

  /** Whether the rider can still undo the step. The upper bound is for a clock that was set back. */
  isUndoable(job) {
    const left = (this.get(job)?.due ?? 0) - Date.now();
    return left > 0 && left <= UNDO_WITHIN;
  }

  /** Sends all steps at the next opportunity: the page may be about to close. */
  hurry() {
    for (const waiting of this.#waiting.values()) waiting.due = 0;
    this.#store();
  }

  /** Returns the step to send now with `isTooOld`, or undefined while there is none or it is being sent. */
  start(job) {
    const waiting = this.get(job);
    if (!waiting || this.#sending.has(job) || this.isUndoable(job)) return undefined;
    this.#sending.add(job);
    return {...waiting, isTooOld: Date.now() - waiting.at > WAITS_FOR};
  }

  remove(job) {
    this.#sending.delete(job);
    if (this.#waiting.delete(job)) this.#store();
  }

  #store = () => {
    try {
      tabStorage().setItem(KEPT_AS, JSON.stringify(Object.fromEntries(this.#waiting)));
    } catch { /* without storage a reload forgets the steps */ }
  };
}
