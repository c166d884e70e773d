// Why no location arrives: the reason that the gateway receives (`unavailable`) and shows to customers, and the text that the
// rider reads. A hidden page cannot report its location; it can only report that it is being hidden.

import {Battery} from './rider-device.js';

/** ms after opening a map app in which that app counts as the reason why the page is hidden. */
const HANDOFF_WITHIN = 10_000;
/** ms between two reports of the same reason. */
const SAME_REASON_AFTER = 30_000;
/** ms for which the page says that nothing was shared while it was hidden. */
const HIDDEN_TOLD_FOR = 20_000;
/** Accuracy radius in m above which the gateway shows no position (`implausible_position`). */
const TOO_COARSE = 200;

export class Unavailability {
  battery = new Battery();

  #finding = null;
  /** Whether the gateway found the phone's clock wrong. */
  isClockWrong = false;
  #wasHidden = false;
  #forgetHidden = null;
  #mapOpenedAt = -Infinity;
  #sent = new Map();

  /**
   * @param {(reason: string) => void} tell reports to the gateway, now and after each reconnect until the next reading
   * @param {() => boolean} isTravelling whether a location is expected at all
   * @param {() => void} changed the text for the rider changed
   */
  constructor(tell, isTravelling, changed) {
    Object.assign(this, {tell, isTravelling, changed});
    document.addEventListener('visibilitychange', () => this.#seen());
    this.battery.watch(() => this.#charged());
  }

  /** The key of the text for the rider, or null. */
  get note() {
    if (this.#finding) return this.#finding;
    if (this.#wasHidden) return 'wasHidden';
    return this.isClockWrong ? 'wrongClock' : this.battery.isLow ? 'battery' : null;
  }

  /** No reading is possible, for a reason of the protocol. */
  report(reason) {
    this.#finding = reason === 'no_fix' ? 'noFix' : null;
    this.#send(reason);
  }

  /** A reading arrived. @param {number|undefined} acc m */
  found(acc) {
    this.#finding = acc > TOO_COARSE ? 'coarse' : null;
    this.#sent.clear();
  }

  /** A map app was opened. It may hide this page and use the receiver alone. */
  handedOff() {
    this.#mapOpenedAt = performance.now();
    this.#send('navigation_handoff');
  }

  /** Nothing is shared any longer, so nothing needs a reason. */
  over() {
    this.#finding = null;
    this.isClockWrong = false;
  }

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
