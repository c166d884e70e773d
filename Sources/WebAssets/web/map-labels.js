// Where the names of streets, parks and waters are written: along the line, where it is straight and long enough, and never
// over another name. Nothing here draws; text is measured by a function of the caller.

/** Maximum number of names in a view, and of features that are checked for them. */
export const MOST_LABELS = 60;
export const MOST_CANDIDATES = 600;
/** Features between two pauses. */
const AT_ONCE = 20;
/** px between two labels with the same name. */
const AGAIN_AFTER = 280;
/** How much shorter than the text the straight line between its ends may be, so that a name does not cross a bend. */
const STRAIGHT = 0.985;
/** Where along a line a label is tried: first in the middle. */
const TRIES = [0.5, 0.3, 0.7, 0.15, 0.85];
const PIN = 16;      // radius in px of a pin's head
const MARGIN = 6;    // px around a label, and at the end of a line

const RANKS = {motorway: 0, major: 1, water: 2, park: 3, medium: 4, river: 5, minor: 6, path: 7};

/** Returns the parts of a line within a rectangle from 0, each as `[x, y, x, y, …]`. */
export function within(line, width, height) {
  const parts = [];
  let part = null;
  for (let at = 2; at < line.length; at += 2) {
    const clipped = clip(line[at - 2], line[at - 1], line[at], line[at + 1], width, height);
    if (!clipped) { part = null; continue; }
    const [x, y, toX, toY] = clipped;
    if (part && part[part.length - 2] === x && part[part.length - 1] === y) part.push(toX, toY);
    else parts.push(part = [x, y, toX, toY]);
  }
  return parts;
}

/** Clips a segment (Liang and Barsky). @returns `[x, y, x, y]`, or null if it is outside */
function clip(x, y, toX, toY, width, height) {
  const [dx, dy] = [toX - x, toY - y];
  let [from, to] = [0, 1];
  for (const [step, room] of [[-dx, x], [dx, width - x], [-dy, y], [dy, height - y]]) {
    if (step === 0) {
      if (room < 0) return null;
    } else if (step < 0) {
      from = Math.max(from, room / step);
    } else {
      to = Math.min(to, room / step);
    }
  }
  return from > to ? null : [
    from === 0 ? x : x + from * dx, from === 0 ? y : y + from * dy,
    to === 1 ? toX : x + to * dx, to === 1 ? toY : y + to * dy,
  ];
}

const lengthOf = (line) => {
  let length = 0;
  for (let at = 2; at < line.length; at += 2) length += Math.hypot(line[at] - line[at - 2], line[at + 1] - line[at - 1]);
  return length;
};

/** Returns the point of a line at a distance from its start. */
function pointAt(line, distance) {
  let rest = distance;
  for (let at = 2; at < line.length; at += 2) {
    const [x, y, toX, toY] = [line[at - 2], line[at - 1], line[at], line[at + 1]];
    const length = Math.hypot(toX - x, toY - y);
    if (rest <= length && length > 0) return [x + (toX - x) * rest / length, y + (toY - y) * rest / length];
    rest -= length;
  }
  return [line[line.length - 2], line[line.length - 1]];
}

/** The space that labels take, as discs along them. */
class Room {
  #cells = new Map();
  static CELL = 32;

  /** The discs that a label needs. */
  discs({x, y, angle, length, size}) {
    const radius = size * 0.6 + MARGIN / 2;
    const count = Math.max(1, Math.ceil(length / radius));
    return Array.from({length: count + 1}, (_, number) => {
      const along = (number / count - 0.5) * length;
      return {x: x + Math.cos(angle) * along, y: y + Math.sin(angle) * along, radius};
    });
  }

  #near = ({x, y}) => {
    const [column, row] = [Math.floor(x / Room.CELL), Math.floor(y / Room.CELL)];
    return [-1, 0, 1].flatMap((right) => [-1, 0, 1].map((down) => (column + right) * 4_096 + row + down));
  };

  isFree(discs) {
    return discs.every((disc) => this.#near(disc).every((key) => (this.#cells.get(key) ?? []).every(
      (other) => Math.hypot(other.x - disc.x, other.y - disc.y) >= other.radius + disc.radius)));
  }

  take(discs) {
    for (const disc of discs) {
      const key = Math.floor(disc.x / Room.CELL) * 4_096 + Math.floor(disc.y / Room.CELL);
      if (!this.#cells.has(key)) this.#cells.set(key, []);
      this.#cells.get(key).push(disc);
    }
  }
}

/**
 * Places names. Iterate until it is done; each step is short.
 *
 * @param features `{class, name, isArea}`
 * @param lineOf `(feature)`: its line in px of the view, `[x, y, x, y, …]`; for an area its outline
 * @param view `{width, height}` in px
 * @param fontOf `(class)`: the size of the text in px, 0 for a class without names at this zoom level
 * @param measure `(name, size)`: the width of a text in px
 * @param pins `[{x, y}]`: tips of pins in px, which names avoid
 * @returns `[{name, class, size, x, y, angle, length}]`: the middle of each text, and its rotation in radians
 */
export const placeLabels = function* placeLabels(features, lineOf, {width, height}, fontOf, measure, pins = []) {
  const rank = (feature) => RANKS[feature.class] ?? 9;
  const candidates = features.filter((feature) => fontOf(feature.class) > 0)
    .sort((a, b) => rank(a) - rank(b)).slice(0, MOST_CANDIDATES);
  const room = new Room();
  room.take(pins.flatMap(({x, y}) => [14, 32].map((up) => ({x, y: y - up, radius: PIN}))));
  const placed = [];
  const byName = new Map();
  for (const [number, feature] of candidates.entries()) {
    if (number % AT_ONCE === AT_ONCE - 1) yield;
    if (placed.length >= MOST_LABELS) break;
    const {name, class: kind, isArea} = feature;
    const [size, line] = [fontOf(kind), lineOf(feature)];
    const length = measure(name, size);
    for (const spot of isArea ? middle(line, length, size) : alongParts(line, length, {width, height})) {
      const label = {name, class: kind, size, length, ...spot};
      const discs = room.discs(label);
      const isInside = discs.every(({x, y}) => x >= size && y >= size && x <= width - size && y <= height - size);
      const same = byName.get(name) ?? [];
      if (!isInside || same.some(({x, y}) => Math.hypot(x - label.x, y - label.y) < AGAIN_AFTER)
        || !room.isFree(discs)) continue;
      room.take(discs);
      placed.push(label);
      byName.set(name, [...same, label]);
      break;
    }
  }
  return placed;
};

function* alongParts(line, length, {width, height}) {
  for (const part of within(line, width, height)) {
    const whole = lengthOf(part);
    for (const share of TRIES) {
      const from = whole * share - length / 2;
      if (from < MARGIN || from + length > whole - MARGIN) continue;
      const [[x, y], [toX, toY]] = [pointAt(part, from), pointAt(part, from + length)];
      if (Math.hypot(toX - x, toY - y) < length * STRAIGHT) continue;
      const angle = Math.atan2(toY - y, toX - x);
      // Never upside down.
      const upright = Math.abs(angle) > Math.PI / 2 ? angle - Math.sign(angle) * Math.PI : angle;
      yield {x: (x + toX) / 2, y: (y + toY) / 2, angle: upright};
    }
  }
}

/** The middle of an area, if the name fits into it. */
function* middle(line, length, size) {
  let [west, east, north, south] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let at = 0; at < line.length; at += 2) {
    [west, east] = [Math.min(west, line[at]), Math.max(east, line[at])];
    [north, south] = [Math.min(north, line[at + 1]), Math.max(south, line[at + 1])];
  }
  if (east - west >= length + MARGIN && south - north >= size * 2) {
    yield {x: (west + east) / 2, y: (north + south) / 2, angle: 0};
  }
}
