// Where the marker is between two positions. Positions come once a second or once in twenty; people see a vehicle that
// drives. From its last position it goes on as it went (dead reckoning), for five seconds at most; when the next one
// shows where it really is, the difference is glided away in less than a second. Nothing here knows a map or a clock.

import {bearing, distance} from './enroute-view.js';

/** m: the earth's mean radius (IUGG). */
const EARTH = 6_371_008.8;
const RADIANS = Math.PI / 180;

/** ms in which a difference to the truth is glided away: what is shown is never further behind than that. */
export const GLIDE = 900;
/** ms for which nothing but the last speed may move the marker. */
export const RECKONING = 5_000;
/** ms of a turn of the icon. */
export const TURN = 400;
/** m/s above which something travels; below it a heading is noise. */
export const TRAVELS = 1.5;
/** m/s that nobody drives: what would be faster stands elsewhere, and has not travelled there. */
export const FASTEST = 60;
/** m that have to lie between two positions before their direction says anything. */
const ANNOUNCED_SHIFT = 3;

/** The place so many m from another in a direction; on a plane, which is exact enough for what is driven in 5 s. */
export function onward(from, heading, metres) {
  const north = metres * Math.cos(heading * RADIANS) / EARTH / RADIANS;
  const east = metres * Math.sin(heading * RADIANS) / EARTH / RADIANS / Math.max(0.01, Math.cos(from.lat * RADIANS));
  return {lat: from.lat + north, lon: from.lon + east};
}

/** How far to turn from one heading to another, the short way round: -180 to 180 degrees. */
export const turn = (from, to) => ((to - from) % 360 + 540) % 360 - 180;

/** From 0 to 1, without a jolt at either end. */
const ease = (part) => part <= 0 ? 0 : part >= 1 ? 1 : part * part * (3 - 2 * part);

/** A marker's movement; all times are ms of one clock that never goes back. */
export class Movement {
  #fix = null;        // the last position, with the speed (m/s) and course (degrees) it is taken to go on with
  #heardAt = 0;       // when it was true, as far as we know
  #gap = null;        // what separated the marker from it when it came, degrees of latitude and longitude
  #cameAt = 0;
  #heading = null;    // `{from, to, at}`: a turn that began at `at`; null while nothing has said where to

  /** @param still steps in the place of movement (`prefers-reduced-motion`): no reckoning, no gliding, no turning. */
  constructor({still = () => false} = {}) {
    this.still = still;
  }

  get isEmpty() { return this.#fix === null; }

  /** The place that was told last, not the one shown. */
  get place() { return this.#fix && {lat: this.#fix.lat, lon: this.#fix.lon}; }

  /** Everything begins anew: nothing glides from one rider to another. */
  forget() {
    [this.#fix, this.#gap, this.#heading] = [null, null, null];
  }

  /**
   * Takes a position.
   * @param position `{lat, lon, at, spd?, hdg?}`; `at` ms by the sensor's clock, spd m/s, hdg degrees from north.
   * @param now when it came.
   * @param age how old it was then, ms.
   * @param atOnce without gliding: the whole state was told anew.
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

  /** How fast it goes and where to: as its phone says, else as two positions tell; no course when neither does. */
  #motion = (before, position) => {
    const seconds = before ? (position.at - before.at) / 1000 : 0;
    const metres = before ? distance(before, position) : 0;
    const told = before && seconds > 0 && metres >= ANNOUNCED_SHIFT ? metres / seconds : 0;
    const speed = position.spd ?? (told <= FASTEST ? told : 0);
    const course = position.hdg ?? (metres >= ANNOUNCED_SHIFT ? bearing(before, position) : null);
    return [speed, course];
  };

  /** Turns to where it travels; at a standstill the last heading is kept, since a standing phone knows none. */
  #aim = (course, speed, atOnce, now) => {
    if (course === null || (speed <= TRAVELS && this.#heading)) return;
    const isTurn = this.#heading && !atOnce && !this.still();
    this.#heading = {from: isTurn ? this.heading(now) : course, to: course, at: now};
  };

  /** Where it would be if it went on as it did, for so long as that may be assumed. */
  #reckoned = (now) => {
    const {speed, course} = this.#fix;
    if (course === null || speed <= TRAVELS || this.still()) return this.#fix;
    const ms = Math.min(RECKONING, Math.max(0, now - this.#heardAt));
    // What was old when it came is not driven after: that would be a leap.
    if (this.#cameAt - this.#heardAt >= RECKONING) return this.#fix;
    return onward(this.#fix, course, speed * ms / 1000);
  };

  /** Where to draw it: `{lat, lon}`, null before the first position. */
  at(now) {
    if (!this.#fix) return null;
    const {lat, lon} = this.#reckoned(now);
    if (!this.#gap || this.still()) return {lat, lon};
    const rest = 1 - ease((now - this.#cameAt) / GLIDE);
    return {lat: lat + this.#gap.lat * rest, lon: lon + this.#gap.lon * rest};
  }

  /** Where its icon points, degrees clockwise from north, 0 to 360; 0 while nobody knows. */
  heading(now) {
    if (!this.#heading) return 0;
    const {from, to, at} = this.#heading;
    return (from + turn(from, to) * ease((now - at) / TURN) + 360) % 360;
  }

  /** Whether the next frame will look other than this one: otherwise none has to be drawn. */
  isMoving(now) {
    if (!this.#fix || this.still()) return false;
    const isReckoned = this.#fix.course !== null && this.#fix.speed > TRAVELS && now - this.#heardAt < RECKONING;
    return isReckoned || now - this.#cameAt < GLIDE || now - (this.#heading?.at ?? -TURN) < TURN;
  }
}
