// What the page asks of the phone beside its location: what it calls itself, a screen that stays on, how full the
// battery is, whether the page is looked at. Each is missing somewhere, and is done without there.

/** At or below this the phone may be off soon, and the gateway is told (`low_battery`); parts of 1. */
export const BATTERY_CRITICAL = 0.05;
/** At or below this the rider is told. */
export const BATTERY_LOW = 0.15;

const DEVICE_KEPT_AS = 'enroute.device';

/** A name of this tab, so that the gateway can tell the rider's newest device from an older one. */
export function deviceName() {
  let name = sessionStorage.getItem(DEVICE_KEPT_AS);
  if (!name) {
    name = [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    sessionStorage.setItem(DEVICE_KEPT_AS, name);
  }
  return name;
}

/** Keeps the screen on while it is wanted. The system takes the lock away when the page is hidden: it is asked anew. */
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
      this.#lock?.release().catch(() => { /* it is gone already */ });
      this.#lock = null;
    } else if (!document.hidden && (this.#lock === null || this.#lock.released)) {
      // An old phone, or one that saves its battery, says no: then the screen goes off as it always does.
      this.#lock = await navigator.wakeLock?.request('screen').catch(() => null) ?? null;
    }
  };
}

/** How full the battery is. Chrome and Samsung Internet say so; elsewhere it stays unknown. */
export class Battery {
  /** Part of 1, or null while it is unknown or the phone is being charged. */
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
