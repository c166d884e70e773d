// Computes where the marker is between two positions, which arrive every 1 to 20 s. The marker continues at its last speed
// and course (dead reckoning) for at most 5 s. When the next position arrives, the marker glides to it in less than a second.
// Nothing here uses a map or a clock.

import {bearing, distance} from './enroute-view.js';

/** Mean radius of the earth in m (IUGG). */
const EARTH = 6_371_008.8;
const RADIANS = Math.PI / 180;

/** ms to glide to a new position, and so the longest lag of the marker. */
export const GLIDE = 900;
/** ms for which the marker continues without a new position. */
export const RECKONING = 5_000;
/** ms to rotate the icon. */
export const TURN = 400;
/** Speed in m/s above which a rider counts as travelling. Below it a heading is noise. */
export const TRAVELS = 1.5;
/** Speed in m/s above which a change is a jump, not a movement. */
export const FASTEST = 60;
/** Distance in m between two positions above which their direction is meaningful. */
const ANNOUNCED_SHIFT = 3;

/** Returns the place at a distance in a direction, computed on a plane: exact enough for 5 s of driving. */
export function onward(from, heading, metres) {
  const north = metres * Math.cos(heading * RADIANS) / EARTH / RADIANS;
  const east = metres * Math.sin(heading * RADIANS) / EARTH / RADIANS / Math.max(0.01, Math.cos(from.lat * RADIANS));
  return {lat: from.lat + north, lon: from.lon + east};
}

/** Returns the rotation from one heading to another the short way round, -180 to 180 degrees. */
export const turn = (from, to) => ((to - from) % 360 + 540) % 360 - 180;

/** Maps 0 to 1 smoothly to 0 to 1. */
const ease = (part) => part <= 0 ? 0 : part >= 1 ? 1 : part * part * (3 - 2 * part);

/** The movement of a marker. All times are ms of one monotonic clock. */
export class Movement {
  #fix = null;        // the last position, with the speed (m/s) and course (degrees) used for reckoning
  #heardAt = 0;       // when the position was measured, as far as known
  #gap = null;        // offset of the marker from the position on arrival, in degrees
  #cameAt = 0;
  #heading = null;    // `{from, to, at}`: a rotation that started at `at`; null while no heading is known

  /** @param still no dead reckoning, gliding or rotation (`prefers-reduced-motion`) */
  constructor({still = () => false} = {}) {
    this.still = still;
  }

  get isEmpty() { return this.#fix === null; }

  /** The last received place, not the one shown. */
  get place() { return this.#fix && {lat: this.#fix.lat, lon: this.#fix.lon}; }

  /** Forgets everything, so that the marker does not glide from one rider to another. */
  forget() {
    [this.#fix, this.#gap, this.#heading] = [null, null, null];
  }

  /**
   * Takes a position.
   * @param position `{lat, lon, at, spd?, hdg?}`; `at` in ms by the phone's clock, spd in m/s, hdg in degrees from north.
   * @param now when it arrived.
   * @param age how old it was on arrival, in ms.
   * @param atOnce whether to show it without gliding, because a whole new state arrived.
   */
  take(position, now, {age = 0, atOnce = false} = {}) {
    const before = this.#fix;
    const shown = before && this.at(now);
    const isElsewhere = shown && distance(shown, position) > FASTEST * Math.max(1, (now - this.#cameAt) / 1000);
    const [speed, course] = this.#motion(before, position);
    this.#fix = {lat: position.lat, lon: position.lon, at: position.at, speed, course};
    [this.#heardAt, this.#cameAt] = [now - age, now];
    this.#aim(course, speed, atOnce, now);
    this.#gap = null;
    if (shown && !atOnce && !isElsewhere && !this.still()) {
      const there = this.#reckoned(now);
      this.#gap = {lat: shown.lat - there.lat, lon: shown.lon - there.lon};
    }
  }

  /** Returns speed and course as reported by the phone, otherwise derived from the last two positions; course may be null. */
  #motion = (before, position) => {
    const seconds = before ? (position.at - before.at) / 1000 : 0;
    const metres = before ? distance(before, position) : 0;
    const told = before && seconds > 0 && metres >= ANNOUNCED_SHIFT ? metres / seconds : 0;
    const speed = position.spd ?? (told <= FASTEST ? told : 0);
    const course = position.hdg ?? (metres >= ANNOUNCED_SHIFT ? bearing(before, position) : null);
    return [speed, course];
  };

  /** Rotates towards the course. At a standstill the last heading stays, because a resting phone reports none. */
  #aim = (course, speed, atOnce, now) => {
    if (course === null || (speed <= TRAVELS && this.#heading)) return;
    const isTurn = this.#heading && !atOnce && !this.still();
    this.#heading = {from: isTurn ? this.heading(now) : course, to: course, at: now};
  };

  /** Returns the dead-reckoned place, up to the time limit. */
  #reckoned = (now) => {
    const {speed, course} = this.#fix;
    if (course === null || speed <= TRAVELS || this.still()) return this.#fix;
    const ms = Math.min(RECKONING, Math.max(0, now - this.#heardAt));
    // A position that was already old on arrival is not extrapolated, because the marker would jump.
    if (this.#cameAt - this.#heardAt >= RECKONING) return this.#fix;
    return onward(this.#fix, course, speed * ms / 1000);
  };

  /** Returns where to draw the marker: `{lat, lon}`, or null before the first position. */
  at(now) {
    if (!this.#fix) return null;
    const {lat, lon} = this.#reckoned(now);
    if (!this.#gap || this.still()) return {lat, lon};
    const rest = 1 - ease((now - this.#cameAt) / GLIDE);
    return {lat: lat + this.#gap.lat * rest, lon: lon + this.#gap.lon * rest};
  }

  /** Returns the direction of the icon, 0 to 360 degrees clockwise from north; 0 while unknown. */
  heading(now) {
    if (!this.#heading) return 0;
    const {from, to, at} = this.#heading;
    return (from + turn(from, to) * ease((now - at) / TURN) + 360) % 360;
  }

  /** Whether the next frame will differ from this one. */
  isMoving(now) {
    if (!this.#fix || this.still()) return false;
    const isReckoned = this.#fix.course !== null && this.#fix.speed > TRAVELS && now - this.#heardAt < RECKONING;
    return isReckoned || now - this.#cameAt < GLIDE || now - (this.#heading?.at ?? -TURN) < TURN;
  }
}
