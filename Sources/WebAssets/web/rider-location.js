// The only file that asks the browser for the location. Only rider-travel.js calls it, as the table of rider-permission.js
// says. A test replaces `navigator.geolocation` with a spy and finds no other call.

/** ms to wait for the first reading after the rider allowed it; a cold receiver needs that long. */
export const FIRST_FIX_WITHIN = 20_000;
/** ms without a reading before another one is requested, because browsers report nothing while a phone does not move. */
export const LOOK_AGAIN_AFTER = 8_000;
/** ms between two rough readings of a rider who is online but does not travel. */
export const PRESENCE_EVERY = 30_000;
/** Age in ms that such a reading may have. */
const PRESENCE_AGE = 60_000;
/** ms to find out, before a map app opens, whether the phone can be located. */
export const PROBE_WITHIN = 1_200;

/** Difference in ms beyond which a reading's time comes from another clock; the current time is used then. */
const STRANGE = 86_400_000;

/** Converts a reading of the browser into one for the gateway, without unknown members. */
export function fixOf({coords, timestamp}, now = Date.now()) {
  const fix = {at: Math.abs(timestamp - now) < STRANGE ? timestamp : now, lat: coords.latitude, lon: coords.longitude};
  if (Number.isFinite(coords.accuracy)) fix.acc = coords.accuracy;
  if (Number.isFinite(coords.speed)) fix.spd = coords.speed;
  if (Number.isFinite(coords.heading)) fix.hdg = coords.heading;
  return fix;
}

/** The browser's location and its permission. */
export class Location {
  #watch = null;
  #again = null;
  #status = null;

  /**
   * @param {(event: {fix: object}|{code: number, permission: string}) => void} onReading
   * @param {(permission: string) => void} onPermission the permission changed in the settings or the browser's prompt
   */
  constructor(onReading, onPermission) {
    Object.assign(this, {onReading, onPermission});
  }

  get isSupported() { return 'geolocation' in navigator; }

  /** The permission, without asking the rider; `unknown` in browsers that do not report it. */
  async permission() {
    if (this.#status === null) {
      try {
        this.#status = await navigator.permissions.query({name: 'geolocation'});
        this.#status.addEventListener('change', () => this.onPermission(this.#status.state));
      } catch {
        return 'unknown';
      }
    }
    return this.#status.state;
  }

  /** The last known permission, for calls that must follow a tap synchronously. */
  get lastPermission() { return this.#status?.state ?? 'unknown'; }

  /** Requests one reading. Without a permission the browser shows its question. */
  ask() {
    navigator.geolocation.getCurrentPosition(
      (position) => this.onReading({fix: fixOf(position)}), (error) => this.#failed(error),
      {enableHighAccuracy: true, timeout: FIRST_FIX_WITHIN, maximumAge: 0});
  }

  /** Starts continuous readings, and requests one now and then if none arrive. */
  watch() {
    if (this.#watch !== null) return;
    this.#watch = navigator.geolocation.watchPosition(
      (position) => this.#read(position), (error) => this.#failed(error),
      {enableHighAccuracy: true, timeout: FIRST_FIX_WITHIN, maximumAge: 0});
    this.#lookAgain();
  }

  get isWatching() { return this.#watch !== null; }

  unwatch() {
    if (this.#watch !== null) navigator.geolocation.clearWatch(this.#watch);
    clearTimeout(this.#again);
    this.#watch = this.#again = null;
  }

  /** Requests a rough reading without GPS. */
  roughly(onFix) {
    navigator.geolocation.getCurrentPosition(
      (position) => onFix(fixOf(position)), () => { /* without it, tasks are offered without regard to distance */ },
      {enableHighAccuracy: false, timeout: FIRST_FIX_WITHIN, maximumAge: PRESENCE_AGE});
  }

  /** @returns {Promise<boolean>} false if the phone is allowed to locate but cannot */
  locates() {
    return new Promise((resolve) => {
      navigator.geolocation.getCurrentPosition(
        () => resolve(true), ({code}) => resolve(code === 3),
        {enableHighAccuracy: false, timeout: PROBE_WITHIN, maximumAge: Infinity});
    });
  }

  #read = (position) => {
    this.onReading({fix: fixOf(position)});
    this.#lookAgain();
  };

  #lookAgain = () => {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => {
      if (this.#watch === null) return;
      if (!document.hidden) {
        navigator.geolocation.getCurrentPosition(
          (position) => { if (this.#watch !== null) this.onReading({fix: fixOf(position)}); },
          () => { /* the continuous readings report why */ },
          {enableHighAccuracy: true, timeout: FIRST_FIX_WITHIN, maximumAge: 0});
      }
      this.#lookAgain();
    }, LOOK_AGAIN_AFTER);
  };

  #failed = async ({code}) => {
    this.onReading({code, permission: await this.permission()});
  };
}
