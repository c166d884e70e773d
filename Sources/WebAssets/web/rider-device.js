// The features of the phone that the page uses besides its location: a name for this device, a screen that stays on, and the
// battery level. Some browsers lack them; the page then works without them.

import {tabStorage} from './page-storage.js';

/** Battery level (0 to 1) at which the phone may switch off soon; the gateway gets the reason `low_battery`. */
export const BATTERY_CRITICAL = 0.05;
/** Battery level at which the page warns the rider. */
export const BATTERY_LOW = 0.15;

const DEVICE_KEPT_AS = 'enroute.device';

/** Returns a name for this tab, by which the gateway recognizes the rider's newest device. */
export function deviceName() {
  let name = tabStorage().getItem(DEVICE_KEPT_AS);
  if (!name) {
    name = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    tabStorage().setItem(DEVICE_KEPT_AS, name);
  }
  return name;
}

/** Keeps the screen on. The system releases the lock when the page is hidden, so it is requested again. */
export class ScreenLock {
  #wanted = false;
  #lock = null;

  constructor() {
    document.addEventListener('visibilitychange', () => this.#hold());
  }

  /** @param {boolean} wanted */
  want(wanted) {
    this.#wanted = wanted;
    this.#hold();
  }

  #hold = async () => {
    if (!this.#wanted) {
      this.#lock?.release().catch(() => { /* already released */ });
      this.#lock = null;
    } else if (!document.hidden && (this.#lock === null || this.#lock.released)) {
      // Old phones and battery savers refuse it; the screen then switches off as usual.
      this.#lock = await navigator.wakeLock?.request('screen').catch(() => null) ?? null;
    }
  };
}

/** The battery level, where the browser reveals it (Chrome, Samsung Internet). */
export class Battery {
  /** 0 to 1, or null while unknown or charging. */
  level = null;

  /** @param {() => void} onChange */
  async watch(onChange) {
    const battery = await navigator.getBattery?.().catch(() => null);
    if (!battery) return;
    const read = () => {
      this.level = battery.charging ? null : battery.level;
      onChange();
    };
    battery.addEventListener('levelchange', read);
    battery.addEventListener('chargingchange', read);
    read();
  }

  get isLow() { return this.level !== null && this.level <= BATTERY_LOW; }
  get isCritical() { return this.level !== null && this.level <= BATTERY_CRITICAL; }
}
