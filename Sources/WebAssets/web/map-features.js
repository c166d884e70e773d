// The streets and areas of a map without tiles, as values: projected once, joined where a street continues under the same
// name, and found by place. Nothing here draws. All coordinates are those of the square world of Web Mercator, 0 to 1.

/** Maximum number of points of a map; the rest of the file is left out. */
export const MOST_POINTS = 1_500_000;
/** Points that are read between two pauses, so that a large file does not block the page. */
const POINTS_AT_ONCE = 4_000;
/** Edge of a cell of the index: 512 px at zoom level 15. */
const CELL = 2 ** -14;
/** A feature that covers more cells is checked for every view. */
const MOST_CELLS = 64;

const AREAS = ['water', 'park', 'building'];

/** Projects degrees. @returns `[x, y]` */
export function project(lon, lat) {
  const sine = Math.sin(Math.max(-85.05, Math.min(85.05, lat)) * Math.PI / 180);
  return [(lon + 180) / 360, 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)];
}

export class Features {
  #cells = new Map();
  #wide = [];
  #named = new Map();    // unjoined lines by class and name
  #points = 0;
  #query = 0;

  /** The box around all streets: `[west, north, east, south]`; null while there is none. */
  box = null;

  /** Reads a FeatureCollection. Iterate until it is done; each step is short. */
  *read(collection) {
    let read = 0;
    for (const {properties, geometry} of collection.features ?? []) {
      const {type, coordinates} = geometry ?? {};
      const feature = {class: properties?.class ?? 'minor', name: properties?.name ?? ''};
      const parts = [];
      for (const line of type === 'LineString' ? [coordinates] : coordinates ?? []) {
        this.#points += line.length;
        if (this.#points > MOST_POINTS) return;
        const part = line.flatMap(([lon, lat]) => project(lon, lat));
        if (type === 'Polygon') parts.push(part);
        else this.#addLine({...feature, lines: [part], isArea: false});
        read += line.length;
        if (read >= POINTS_AT_ONCE) { read = 0; yield; }
      }
      if (type === 'Polygon' && AREAS.includes(feature.class)) this.#add({...feature, lines: parts, isArea: true});
    }
    for (const lines of this.#named.values()) {
      for (const line of joined(lines)) this.#add({...lines[0], lines: [line], isLabel: true});
      yield;
    }
    this.#named.clear();
  }

  #addLine = (feature) => {
    this.#add(feature);
    if (!feature.name) return;
    const key = `${feature.class} ${feature.name}`;
    if (!this.#named.has(key)) this.#named.set(key, []);
    this.#named.get(key).push(feature);
  };

  #add = (feature) => {
    const item = {...feature, box: boxAround(feature.lines), seen: 0};
    if (item.box === null) return;
    if (!item.isArea) this.box = union(this.box, item.box);
    const [west, north, east, south] = item.box.map((edge) => Math.floor(edge / CELL));
    if ((east - west + 1) * (south - north + 1) > MOST_CELLS) { this.#wide.push(item); return; }
    for (let x = west; x <= east; x += 1) {
      for (let y = north; y <= south; y += 1) {
        const key = x * 65_536 + y;
        if (!this.#cells.has(key)) this.#cells.set(key, []);
        this.#cells.get(key).push(item);
      }
    }
  };

  /** Returns the features within a box by class, and the lines that carry names: `{drawn: Map, labels: []}`. */
  find(box) {
    const drawn = new Map();
    const labels = [];
    const query = this.#query += 1;
    const look = (item) => {
      if (item.seen === query || !overlap(item.box, box)) return;
      item.seen = query;
      if (item.isLabel) { labels.push(item); return; }
      if (item.isArea && item.name) labels.push(item);
      if (!drawn.has(item.class)) drawn.set(item.class, []);
      drawn.get(item.class).push(item);
    };
    const [west, north, east, south] = box.map((edge) => Math.floor(edge / CELL));
    if ((east - west + 1) * (south - north + 1) > this.#cells.size) {
      for (const items of this.#cells.values()) items.forEach(look);
    } else {
      for (let x = west; x <= east; x += 1) {
        for (let y = north; y <= south; y += 1) this.#cells.get(x * 65_536 + y)?.forEach(look);
      }
    }
    this.#wide.forEach(look);
    return {drawn, labels};
  }
}

function boxAround(lines) {
  let box = null;
  for (const line of lines) {
    for (let at = 0; at < line.length; at += 2) {
      box ??= [line[at], line[at + 1], line[at], line[at + 1]];
      box[0] = Math.min(box[0], line[at]);
      box[1] = Math.min(box[1], line[at + 1]);
      box[2] = Math.max(box[2], line[at]);
      box[3] = Math.max(box[3], line[at + 1]);
    }
  }
  return box;
}

const overlap = (a, b) => a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3];
const union = (a, b) => (a === null ? [...b]
  : [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])]);

const startOf = (line) => `${line[0]} ${line[1]}`;
const endOf = (line) => `${line[line.length - 2]} ${line[line.length - 1]}`;
function reversed(line) {
  const turned = [];
  for (let at = line.length - 2; at >= 0; at -= 2) turned.push(line[at], line[at + 1]);
  return turned;
}

/** Joins lines at their ends, because maps split a street at every crossing and a name needs a long one. */
export function joined(features) {
  const ends = new Map();
  const open = new Set(features.map(({lines}) => lines[0]).filter((line) => line.length >= 4));
  for (const line of open) {
    for (const end of [startOf(line), endOf(line)]) ends.set(end, [...ends.get(end) ?? [], line]);
  }
  const next = (end) => ends.get(end)?.find((line) => open.has(line));
  const done = [];
  for (const first of open) {
    open.delete(first);
    let line = first;
    for (const isBackwards of [false, true]) {
      if (isBackwards) line = reversed(line);
      for (let more = next(endOf(line)); more; more = next(endOf(line))) {
        open.delete(more);
        line = line.concat((startOf(more) === endOf(line) ? more : reversed(more)).slice(2));
      }
    }
    done.push(line);
  }
  return done;
}
