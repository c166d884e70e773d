// The one place that asks the browser where it is. Nobody calls it but rider-travel.js, at what the table of
// rider-permission.js says; a test replaces `navigator.geolocation` by a spy and finds no other call.

/** ms for a first reading, from the rider's yes on: a cold receiver takes that long. */
export const FIRST_FIX_WITHIN = 20_000;
/** ms without a reading until the phone is asked anew: who stands still is told nothing by the browser. */
export const LOOK_AGAIN_AFTER = 8_000;
/** ms between two looks at where a rider is that is online and does not travel. */
export const PRESENCE_EVERY = 30_000;
/** ms: a reading of this age is good enough for that. */
const PRESENCE_AGE = 60_000;
/** ms to find out, before a map app is opened, whether the phone locates at all. */
export const PROBE_WITHIN = 1_200;

/** A browser whose readings are dated by another clock than ours: then they are from now. */
const STRANGE = 86_400_000;

/** A reading of the browser as the gateway takes it; what is unknown is left out. */
export function fixOf({coords, timestamp}, now = Date.now()) {
  const fix = {at: Math.abs(timestamp - now) < STRANGE ? timestamp : now, lat: coords.latitude, lon: coords.longitude};
  if (Number.isFinite(coords.accuracy)) fix.acc = coords.accuracy;
  if (Number.isFinite(coords.speed)) fix.spd = coords.speed;
  if (Number.isFinite(coords.heading)) fix.hdg = coords.heading;
  return fix;
}

/** The browser's location, and what it says of the permission for it. */
export class Location {
  #watch = null;
  #again = null;
  #status = null;

  /**
   * @param {(event: {fix: object}|{code: number, permission: string}) => void} onReading
   * @param {(permission: string) => void} onPermission the rider changed it in the settings, or answered the question
   */
  constructor(onReading, onPermission) {
    Object.assign(this, {onReading, onPermission});
  }

  get isSupported() { return 'geolocation' in navigator; }

  /** What the browser would say; asks nobody. `unknown` where it can not be known. */
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

  /** The same, as far as it is known already: for what has to follow a tap at once. */
  get lastPermission() { return this.#status?.state ?? 'unknown'; }

  /** One reading; where the permission is not given yet the browser puts its question. */
  ask() {
    navigator.geolocation.getCurrentPosition(
      (position) => this.onReading({fix: fixOf(position)}), (error) => this.#failed(error),
      {enableHighAccuracy: true, timeout: FIRST_FIX_WITHIN, maximumAge: 0});
  }

  /** Readings as they come, and one now and then where none comes. */
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

  /** Where the rider is, roughly and without the satellites; nothing where that is not known. */
  roughly(onFix) {
    navigator.geolocation.getCurrentPosition(
      (position) => onFix(fixOf(position)), () => { /* nobody is offered what is near, that is all */ },
      {enableHighAccuracy: false, timeout: FIRST_FIX_WITHIN, maximumAge: PRESENCE_AGE});
  }

  /** @returns {Promise<boolean>} false when the phone, which may locate, does not. */
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
          () => { /* the watch says why */ },
          {enableHighAccuracy: true, timeout: FIRST_FIX_WITHIN, maximumAge: 0});
      }
      this.#lookAgain();
    }, LOOK_AGAIN_AFTER);
  };

  #failed = async ({code}) => {
    this.onReading({code, permission: await this.permission()});
  };
}
