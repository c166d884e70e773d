// Why no location comes: what the gateway is told of it (`unavailable`), so that a customer reads a reason in the place of a
// marker that stands still, and what the rider is told. A page that is hidden can not report; it can only say that it
// is hidden, in the moment in which it becomes so.

import {Battery} from './rider-device.js';

/** ms after a map app was opened in which a page that is hidden is hidden by it. */
const HANDOFF_WITHIN = 10_000;
/** ms between two reports of the same reason. */
const SAME_REASON_AFTER = 30_000;
/** ms for which the rider is told that nothing was shared while the page was hidden. */
const HIDDEN_TOLD_FOR = 20_000;
/** m: the gateway shows nothing that is less exact (`implausible_position`). */
const TOO_COARSE = 100;

export class Unavailability {
  battery = new Battery();

  #finding = null;
  /** Why there is nothing to find, since then and until there is. */
  #reason = null;
  #wasHidden = false;
  #forgetHidden = null;
  #mapOpenedAt = -Infinity;
  #sent = new Map();

  /**
   * @param {(reason: string, job?: string) => void} tell the gateway, of that job or of all that it heard of
   * @param {() => boolean} isTravelling whether there is anything to explain
   * @param {() => void} changed what the rider is told is another
   */
  constructor(tell, isTravelling, changed) {
    Object.assign(this, {tell, isTravelling, changed});
    document.addEventListener('visibilitychange', () => this.#seen());
    this.battery.watch(() => this.#charged());
  }

  /** What the rider is told: a key of the words, or null. */
  get note() {
    if (this.#finding) return this.#finding;
    if (this.#wasHidden) return 'wasHidden';
    return this.battery.isLow ? 'battery' : null;
  }

  /** There is nothing to find for `reason`, a word of the gateway. */
  report(reason) {
    this.#finding = reason === 'no_fix' ? 'noFix' : null;
    this.#reason = reason;
    this.#send(reason);
  }

  /** A reading came. @param {number|undefined} acc m */
  found(acc) {
    this.#finding = acc > TOO_COARSE ? 'coarse' : null;
    this.#reason = null;
    this.#sent.clear();
  }

  /** A map app was opened: it may hide us, and have the receiver for itself. */
  handedOff() {
    this.#mapOpenedAt = performance.now();
    this.#send('navigation_handoff');
  }

  /** The gateway was told anew that we travel, and begins without a reason: what is the matter still is said again. */
  again() {
    const last = [...this.#sent.keys()].at(-1);
    if (this.#sent.delete(last)) this.#send(last);
  }

  /** These travel and are not located: a gateway that was told nothing of them is told by their names why. */
  explain(jobs) {
    if (this.#reason) for (const job of jobs) this.tell(this.#reason, job);
  }

  /** Nothing is shared any more, so nothing is missing. */
  over() { this.#finding = this.#reason = null; }

  #seen = () => {
    if (!this.isTravelling()) return;
    if (document.hidden) {
      if (performance.now() - this.#mapOpenedAt > HANDOFF_WITHIN) this.#send('hidden');
      return;
    }
    this.#sent.clear();
    this.#wasHidden = true;
    clearTimeout(this.#forgetHidden);
    this.#forgetHidden = setTimeout(() => {
      this.#wasHidden = false;
      this.changed();
    }, HIDDEN_TOLD_FOR);
    this.changed();
  };

  #charged = () => {
    if (this.battery.isCritical) this.#send('low_battery');
    this.changed();
  };

  #send = (reason) => {
    const now = performance.now();
    if (!this.isTravelling() || now - (this.#sent.get(reason) ?? -Infinity) < SAME_REASON_AFTER) return;
    this.#sent.set(reason, now);
    this.tell(reason);
  };
}
