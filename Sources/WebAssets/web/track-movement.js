// Computes where the marker is between two positions, which arrive every 1 to 20 s. The marker continues at its last speed
// until the next position is overdue: along the route if the gateway sent one and the rider is on it, otherwise on its last
// course (dead reckoning). When a position arrives, the marker glides to it, not much faster than the rider can be. Nothing
// here uses a map or a clock.

import {bearing, distance} from './enroute-view.js';

/** Mean radius of the earth in m (IUGG). */
const EARTH = 6_371_008.8;
const RADIANS = Math.PI / 180;

/**
 * ms to glide to a new position if that is not too fast, and at most. The first is longer than the usual time between
 * positions, so that a marker rarely stands still before the next.
 */
export const GLIDE = 2_500;
export const LONGEST_GLIDE = 20_000;
/** While it glides, the marker is at most this factor faster than the rider was recently. */
export const HASTE = 1.14;
/** ms for which the marker continues without a new position, if the rider reports often, and at most. */
export const RECKONING = 7_000;
export const LONGEST_RECKONING = 20_000;
/** The marker continues for this factor of the time between the last positions. */
const OVERDUE = 1.4;
/** ms to rotate the icon. */
export const TURN = 400;
/** Speed in m/s above which a rider counts as travelling. Below it a heading is noise. */
export const TRAVELS = 1.5;
/** Speed in m/s at or below which a rider counts as standing still. */
export const RESTS = 0.5;
/** Speed in m/s above which a change is a jump, not a movement. Nobody travels faster. */
export const FASTEST = 100;
/** A reported speed is limited to this factor of the speed between the positions, plus this margin in m/s. */
const TOLD = {factor: 1.5, margin: 8};
/** The speed in m/s that a marker may always have, and the share of its highest speed that each position removes. */
const LEAST_TOP = 1.2;
const FORGOTTEN = 0.01;
/** m/s: a measured speed may be too high by this much by chance, so it is subtracted from the highest one. */
export const NOISE = 0.4;
/** m/s² by which a speed may rise that the phone did not report. A filter that catches up after a turn looks faster. */
const ACCELERATION = 3;
/** ms for which a rider who has moved less than `ANNOUNCED_SHIFT` counts as still moving. */
const UNDECIDED = 5_000;
/** Distance in m between two positions above which their direction is meaningful. */
const ANNOUNCED_SHIFT = 1.5;
/** A rider within this many m of the route, and this many degrees of its direction, is on it: the marker stays on the line. */
export const ON_ROUTE = 25;
const ALONG_ROUTE = 100;

/** Returns the place at a distance in a direction, computed on a plane: exact enough for 20 s of driving. */
export function onward(from, heading, meters) {
  const north = meters * Math.cos(heading * RADIANS) / EARTH / RADIANS;
  const east = meters * Math.sin(heading * RADIANS) / EARTH / RADIANS / Math.max(0.01, Math.cos(from.lat * RADIANS));
  return {lat: from.lat + north, lon: from.lon + east};
}

/** Returns the rotation from one heading to another the short way round, -180 to 180 degrees. */
export const turn = (from, to) => ((to - from) % 360 + 540) % 360 - 180;

/** Maps 0 to 1 smoothly to 0 to 1. */
const ease = (part) => part <= 0 ? 0 : part >= 1 ? 1 : part * part * (3 - 2 * part);

/** The movement of a marker. All times are ms of one monotonic clock. */
export class Movement {
  // The last position, with the speed (m/s) and course (degrees) used for reckoning.
  #fix = null;
  // The last position that was apart from the one before it, for phones that report no speed.
  #anchor = null;
  // When the position was measured, if known.
  #heardAt = 0;
  // Offset of the marker from the position on arrival: m along the route, and the rest in degrees.
  #gap = null;
  // ms in which the gap closes.
  #glide = GLIDE;
  // When the glide started.
  #glidesFrom = 0;
  #cameAt = 0;
  // ms between the last arrivals.
  #spacings = [];
  // The rider's highest speed of the last few minutes, m/s.
  #top = LEAST_TOP;
  // `{from, to, at}`: a rotation that started at `at`; null while no heading is known.
  #heading = null;
  // The route ahead, a Route.
  #route = null;
  // Where the position is on the route, m from its start; null while it is not on it.
  #along = null;

  /** @param still no dead reckoning, gliding or rotation (`prefers-reduced-motion`) */
  constructor({still = () => false} = {}) {
    this.still = still;
  }

  get isEmpty() { return this.#fix === null; }

  /** The last received place, not the one shown. */
  get place() { return this.#fix && {lat: this.#fix.lat, lon: this.#fix.lon}; }

  /** Forgets everything, so that the marker does not glide from one rider to another. */
  forget() {
    [this.#fix, this.#anchor, this.#gap, this.#heading] = [null, null, null, null];
    [this.#spacings, this.#top] = [[], LEAST_TOP];
    [this.#route, this.#along] = [null, null];
  }

  /** Follows another route from now on, without a leap. @param route a Route, or null for none */
  follow(route, now) {
    if (route === this.#route) return;
    const shown = this.at(now);
    this.#route = route;
    if (!shown) return;
    this.#along = this.#find();
    if (!this.still()) this.#glideFrom(shown, now);
  }

  /** Where the rider is on the route, m from its start, or null. */
  get along() { return this.#along; }

  /**
   * Adds a position.
   * @param position `{lat, lon, at, spd?, hdg?}`; `at` in ms by the phone's clock, spd in m/s, hdg in degrees from north.
   * @param now when it arrived.
   * @param age how old it was on arrival, in ms.
   * @param atOnce whether to show it without gliding, because a whole new state arrived.
   */
  take(position, now, {age = 0, atOnce = false} = {}) {
    const before = this.#fix;
    const shown = before && this.at(now);
    const since = now - this.#cameAt;
    // After a long gap the rider may be anywhere, so the usual time between positions is used.
    const isElsewhere = shown && distance(shown, position) > FASTEST * Math.max(1, Math.min(since, ...this.#spacings) / 1000);
    const isOverdue = since > this.#reckoning;
    const [speed, course] = this.#motion(before, position);
    if (before) this.#spacings = [since, ...this.#spacings].slice(0, 2);
    this.#fix = {lat: position.lat, lon: position.lon, at: position.at, speed, course};
    [this.#heardAt, this.#cameAt] = [now - age, now];
    const surely = before ? speed - Math.min(NOISE, speed / 4) : speed;
    this.#top = Math.max(surely, LEAST_TOP, this.#top * (1 - FORGOTTEN));
    this.#aim(course, speed, atOnce, now);
    this.#gap = null;
    this.#along = this.#find();
    if (shown && !atOnce && !isElsewhere && !this.still()) this.#glideFrom(shown, now, isOverdue);
  }

  /** Returns where the position is on the route, or null if the rider does not travel along it. */
  #find = () => {
    if (!this.#route) return null;
    const {along, away, heading} = this.#route.find(this.#fix, this.#along);
    const isAlong = this.#fix.course === null || this.#fix.speed <= TRAVELS
      || Math.abs(turn(this.#fix.course, heading)) <= ALONG_ROUTE;
    return away <= ON_ROUTE && isAlong ? along : null;
  };

  /**
   * Starts a glide from where the marker is shown. On the route it leads along the route.
   * @param isOverdue whether the marker had stopped, so that it jumps where it would have to hurry
   */
  #glideFrom = (shown, now, isOverdue = false) => {
    const there = this.#reckoned(now);
    const start = there.along === undefined ? null : this.#route.find(shown, there.along);
    const isOnRoute = start !== null && start.away <= ON_ROUTE;
    const along = isOnRoute ? start.along - there.along : 0;
    const from = isOnRoute ? this.#route.at(start.along) : there;
    const glide = this.#glideTime(from, shown, along);
    if (isOverdue && glide > LONGEST_GLIDE) return;
    this.#gap = {along, lat: shown.lat - from.lat, lon: shown.lon - from.lon};
    this.#glide = Math.min(LONGEST_GLIDE, glide);
    this.#glidesFrom = now;
  };

  /**
   * Returns speed and course as reported by the phone, otherwise derived from positions; course may be null. A reported
   * speed that contradicts the positions is limited.
   */
  #motion = (before, position) => {
    this.#anchor ??= position;
    const seconds = before ? Math.max(1, (position.at - before.at) / 1000) : 1;
    const reported = Math.min(position.spd ?? 0, before
      ? distance(before, position) / seconds * TOLD.factor + TOLD.margin : FASTEST, FASTEST);
    let derived = before ? [before.speed, before.course] : [0, null];
    const meters = distance(this.#anchor, position);
    const ms = position.at - this.#anchor.at;
    if (meters >= ANNOUNCED_SHIFT) {
      const speed = ms > 0 ? meters / ms * 1000 : 0;
      derived = [speed <= FASTEST ? speed : 0, bearing(this.#anchor, position)];
    } else if (ms > UNDECIDED || ms < 0) derived = [0, null];
    if (meters >= ANNOUNCED_SHIFT || ms > UNDECIDED || ms < 0) this.#anchor = position;
    // The second position is the first with a speed.
    const limit = before?.course == null ? FASTEST : before.speed + ACCELERATION * seconds;
    return [position.spd == null ? Math.min(derived[0], limit) : reported, position.hdg ?? derived[1]];
  };

  /**
   * Returns the ms in which the gap can close without haste, if it is not longer than the longest glide.
   * @param along m of the gap that are on the route
   */
  #glideTime = (from, shown, along) => {
    const {speed, course} = this.#fix;
    const aside = distance(shown, from);
    const own = course === null || speed <= RESTS ? 0 : Math.min(speed, this.#top);
    // On the route the direction of the rest hardly matters, because it is a few meters.
    const angle = aside > 0 && this.#along === null ? turn(course ?? 0, bearing(shown, from)) * RADIANS : Math.PI / 2;
    let ms = GLIDE;
    const isHasty = () => {
      const [more, ahead] = [aside / ms * 1000, -along / ms * 1000];
      return Math.hypot(own + ahead + more * Math.cos(angle), more * Math.sin(angle)) > this.#top * HASTE;
    };
    while (ms <= LONGEST_GLIDE && isHasty()) ms *= 1.2;
    return ms;
  };

  /** Rotates towards the course. At a standstill the last heading stays, because a resting phone reports none. */
  #aim = (course, speed, atOnce, now) => {
    if (course === null || (speed <= TRAVELS && this.#heading)) return;
    const isTurn = this.#heading && !atOnce && !this.still();
    this.#heading = {from: isTurn ? this.heading(now) : course, to: course, at: now};
  };

  /** ms for which the last position is extrapolated. One long gap is no reason to continue for longer. */
  get #reckoning() {
    const usual = this.#spacings.length === 2 ? Math.min(...this.#spacings) : 0;
    return Math.min(LONGEST_RECKONING, Math.max(RECKONING, usual * OVERDUE));
  }

  /** Returns the place without the glide, up to the time limit: on the route with m from its start, otherwise dead-reckoned. */
  #reckoned = (now) => {
    const {course} = this.#fix;
    const speed = Math.min(this.#fix.speed, this.#top);
    if (this.still()) return this.#fix;
    // A position that was already old on arrival is not extrapolated, because the marker would jump.
    const isUsable = speed > RESTS && this.#cameAt - this.#heardAt < RECKONING;
    const ms = isUsable ? Math.min(this.#reckoning, Math.max(0, now - this.#heardAt)) : 0;
    if (this.#along !== null) {
      const along = Math.min(this.#route.meters, this.#along + speed * ms / 1000);
      return {...this.#route.at(along), along};
    }
    return course === null || ms === 0 ? this.#fix : onward(this.#fix, course, speed * ms / 1000);
  };

  /** Returns where to draw the marker: `{lat, lon}`, or null before the first position. */
  at(now) {
    if (!this.#fix) return null;
    const there = this.#reckoned(now);
    const rest = this.#gap ? Math.max(0, 1 - (now - this.#glidesFrom) / this.#glide) : 0;
    if (rest === 0 || this.still()) return {lat: there.lat, lon: there.lon};
    const {along, lat, lon} = this.#gap;
    const from = along !== 0 && there.along !== undefined ? this.#route.at(there.along + along * rest) : there;
    return {lat: from.lat + lat * rest, lon: from.lon + lon * rest};
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
    const isReckoned = (this.#fix.course !== null || this.#along !== null) && this.#fix.speed > RESTS
      && now - this.#heardAt < this.#reckoning;
    return isReckoned || (this.#gap && now - this.#glidesFrom < this.#glide) || now - (this.#heading?.at ?? -TURN) < TURN;
  }
}
