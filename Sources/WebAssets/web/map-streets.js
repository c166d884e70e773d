// Draws a map from the gateway's streets: streets by class with their names, and water, parks and buildings below them. It is
// drawn off screen in short steps, so that a marker keeps moving meanwhile, and shown when it is complete. Without streets the
// background has dots, so that movement can be seen.

import {colour} from './page.js';
import {Features} from './map-features.js';
import {placeLabels} from './map-labels.js';

const STEP = 5;             // ms of drawing in one frame
const BATCH = 1_500;        // points of one step
const AROUND = 0.2;         // share of the view that is drawn beyond each edge
const SHARPEST = 2;         // device pixels per px
const FADE_PX = 72;         // where the data end, streets fade out
const DOTS_PX = 48;         // distance between two dots without streets

/** Width in px at the zoom levels 12, 14, 16 and 18, by class; 0 is not drawn. In the order in which they are drawn. */
const LINES = {
  river: {width: [1, 2, 4, 8], fill: '--map-water'},
  rail: {width: [0.6, 1, 1.6, 2], fill: '--map-rail'},
  path: {width: [0, 0.6, 1.8, 4], fill: '--street'},
  minor: {width: [0.6, 2, 6, 13], fill: '--street', edge: '--street-edge'},
  medium: {width: [1.2, 3.4, 8, 16], fill: '--street', edge: '--street-edge'},
  major: {width: [2, 5, 10, 19], fill: '--street-major', edge: '--street-major-edge'},
  motorway: {width: [2.4, 5.5, 11, 20], fill: '--street-motorway', edge: '--street-motorway-edge'},
};
const LEVELS = [12, 14, 16, 18];
/** Streets of at least this width in px have edges. */
const EDGED_FROM = 3;
const AREAS = {
  park: {from: 11, fill: '--map-park'}, water: {from: 0, fill: '--map-water'},
  building: {from: 14.5, fill: '--map-building'},
};
/** Size of names in px, and the zoom level from which they are written. */
const NAMES = {
  motorway: [12.5, 13], major: [12.5, 13.5], medium: [12, 14.5], minor: [11.5, 15.25], path: [11, 17],
  park: [12, 14], water: [12, 13], river: [11.5, 14],
};
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

/** Returns the width of a class at a zoom level, in px. */
export function widthAt(widths, zoom) {
  const last = LEVELS.length - 1;
  if (zoom <= LEVELS[0]) return widths[0] * 2 ** ((zoom - LEVELS[0]) / 2);
  if (zoom >= LEVELS[last]) return widths[last];
  const at = LEVELS.findIndex((level, index) => zoom < LEVELS[index + 1]);
  const share = (zoom - LEVELS[at]) / (LEVELS[at + 1] - LEVELS[at]);
  return widths[at] + (widths[at + 1] - widths[at]) * share;
}

/** A task that continues in every frame for `STEP` ms. A newer task replaces it. */
class Steps {
  #frame = null;

  /** @param isWanted whether to go on. */
  constructor(isWanted) { this.isWanted = isWanted; }

  run(task, next) {
    cancelAnimationFrame(this.#frame);
    const step = () => {
      if (!this.isWanted()) return;
      const start = performance.now();
      do {
        if (task.next().done) { next(); return; }
      } while (performance.now() - start < STEP);
      this.#frame = requestAnimationFrame(step);
    };
    this.#frame = requestAnimationFrame(step);
  }
}

export class StreetLayer {
  #map;
  #pane;
  #features = null;
  #pins = [];
  #shown = null;       // `{canvas, corner, zoom}` on the screen
  #spare = null;       // the canvas that the next drawing uses
  #widths = new Map();
  #isOpen = () => Boolean(this.#map._loaded && this.#pane.isConnected);
  #reading = new Steps(this.#isOpen);
  #drawing = new Steps(this.#isOpen);

  /** @param map of Leaflet; when it is removed, drawing ends. */
  constructor(map) {
    this.#map = map;
    this.#pane = map.createPane('streets');
    Object.assign(this.#pane.style, {zIndex: 150, pointerEvents: 'none'});
    map.on('moveend viewreset resize', this.#draw);
    map.on('zoomanim', ({center, zoom}) => this.#place(center, zoom));
    map.on('zoom', () => this.#place(map.getCenter(), map.getZoom()));
    this.#draw();
  }

  /** Reads the streets, in steps, and draws them. @param collection GeoJSON as the gateway sends it */
  show(collection) {
    const features = new Features();
    this.#reading.run(features.read(collection), () => {
      this.#features = features;
      this.#draw();
    });
  }

  /** Keeps names away from pins. @param pins `[[lat, lon]]` */
  avoid(pins) {
    this.#pins = pins;
    this.#draw();
  }

  /** Redraws in the colors of the current theme. */
  repaint() { this.#draw(); }

  #draw = () => {
    if (!this.#isOpen()) return;
    const map = this.#map;
    const view = map.getSize();
    const size = view.multiplyBy(1 + 2 * AROUND).round();
    if (view.x === 0 || view.y === 0) return;
    const zoom = map.getZoom();
    const origin = map.project(map.getCenter(), zoom).subtract(size.divideBy(2));
    const canvas = this.#spare ?? document.createElement('canvas');
    this.#spare = canvas;
    const scale = Math.min(SHARPEST, devicePixelRatio || 1);
    Object.assign(canvas, {width: size.x * scale, height: size.y * scale, className: 'leaflet-zoom-animated'});
    Object.assign(canvas.style, {width: `${size.x}px`, height: `${size.y}px`, position: 'absolute'});
    const pen = canvas.getContext('2d');
    pen.scale(scale, scale);
    const drawing = {pen, zoom, width: size.x, height: size.y, world: 256 * 2 ** zoom, x: origin.x, y: origin.y};
    this.#drawing.run(this.#features ? this.paint(drawing) : dots(drawing), () => {
      this.#spare = this.#shown?.canvas ?? null;
      this.#spare?.remove();
      this.#shown = {canvas, corner: map.unproject(origin, zoom), zoom};
      this.#place(map.getCenter(), map.getZoom());
      this.#pane.append(canvas);
    });
  };

  /** Moves and scales the drawing to where it belongs, now or at the end of an animation. */
  #place = (center, zoom) => {
    if (!this.#shown) return;
    const {canvas, corner, zoom: drawnAt} = this.#shown;
    const at = this.#map._latLngToNewLayerPoint(corner, zoom, center);
    L.DomUtil.setTransform(canvas, at, this.#map.getZoomScale(zoom, drawnAt));
  };

  /** Paints in steps. */
  *paint(drawing) {
    const {pen, zoom, width, height, world, x, y} = drawing;
    const box = [x / world, y / world, (x + width) / world, (y + height) / world];
    const {drawn, labels} = this.#features.find(box);
    yield;
    Object.assign(pen, {lineCap: 'round', lineJoin: 'round'});
    for (const [kind, {from, fill}] of Object.entries(AREAS)) {
      if (zoom < from) continue;
      pen.fillStyle = colour(fill);
      yield* inBatches(drawing, drawn.get(kind), () => pen.fill('evenodd'));
    }
    for (const isEdge of [true, false]) {
      for (const [kind, {width: widths, fill, edge}] of Object.entries(LINES)) {
        const px = widthAt(widths, zoom);
        if (px < 0.3 || (isEdge && (!edge || px < EDGED_FROM))) continue;
        Object.assign(pen, {lineWidth: isEdge ? px + 1.5 : px, strokeStyle: colour(isEdge ? edge : fill)});
        yield* inBatches(drawing, drawn.get(kind), () => pen.stroke());
      }
    }
    this.#fade(drawing);
    yield;
    yield* this.write(drawing, labels);
  }

  /** Fades the map out where the data end, so that there is no hard edge. */
  #fade = ({pen, width, height, world, x, y}) => {
    if (!this.#features.box) return;
    const [west, north, east, south] = this.#features.box.map((edge, at) => edge * world - (at % 2 ? y : x));
    pen.save();
    pen.globalCompositeOperation = 'destination-out';
    const strip = (isAcross, edge, inner) => {
      const [from, to] = [Math.min(edge, inner), Math.max(edge, inner)];
      const fade = isAcross ? pen.createLinearGradient(edge, 0, inner, 0) : pen.createLinearGradient(0, edge, 0, inner);
      fade.addColorStop(0, '#000');
      fade.addColorStop(1, '#0000');
      pen.fillStyle = fade;
      if (isAcross) pen.fillRect(from, 0, to - from, height);
      else pen.fillRect(0, from, width, to - from);
    };
    // A small map keeps its middle.
    const depth = (a, b) => Math.min(FADE_PX, (b - a) / 4);
    strip(true, west, west + depth(west, east));
    strip(true, east, east - depth(west, east));
    strip(false, north, north + depth(north, south));
    strip(false, south, south - depth(north, south));
    pen.restore();
  };

  /** Writes the names in steps. */
  *write(drawing, labels) {
    const {pen, zoom} = drawing;
    const sizeOf = (kind) => (NAMES[kind] && zoom >= NAMES[kind][1] ? NAMES[kind][0] : 0);
    const placed = yield* placeLabels(labels, (feature) => inPixels(feature.lines[0], drawing), drawing, sizeOf,
      (name, size) => this.#measure(pen, name, size), this.#pins.map(([lat, lon]) => {
        const {x, y} = this.#map.project([lat, lon], zoom);
        return {x: x - drawing.x, y: y - drawing.y};
      }));
    Object.assign(pen, {textAlign: 'center', textBaseline: 'middle', lineWidth: 3, strokeStyle: colour('--map-halo')});
    for (const {name, class: kind, size, x, y, angle} of placed) {
      pen.save();
      pen.translate(x, y);
      pen.rotate(angle);
      pen.font = fontOf(size);
      pen.fillStyle = colour({park: '--map-park-name', water: '--map-water-name', river: '--map-water-name'}[kind]
        ?? '--map-name');
      pen.strokeText(name, 0, 0);
      pen.fillText(name, 0, 0);
      pen.restore();
    }
    this.#pane.dataset.names = placed.map(({name}) => name).join(', ');
  }

  #measure = (pen, name, size) => {
    const key = `${size} ${name}`;
    if (!this.#widths.has(key)) {
      if (this.#widths.size > 5_000) this.#widths.clear();
      pen.font = fontOf(size);
      this.#widths.set(key, pen.measureText(name).width);
    }
    return this.#widths.get(key);
  };
}

const fontOf = (size) => `500 ${size}px ${FONT}`;

function inPixels(line, {world, x, y}) {
  const px = new Array(line.length);
  for (let at = 0; at < line.length; at += 2) {
    px[at] = line[at] * world - x;
    px[at + 1] = line[at + 1] * world - y;
  }
  return px;
}

/** Adds features to paths of at most a batch of points, and finishes each path. */
function* inBatches({pen, world, x, y}, items = [], finish) {
  let points = 0;
  pen.beginPath();
  for (const {lines, isArea} of items) {
    for (const line of lines) {
      pen.moveTo(line[0] * world - x, line[1] * world - y);
      for (let at = 2; at < line.length; at += 2) pen.lineTo(line[at] * world - x, line[at + 1] * world - y);
      if (isArea) pen.closePath();
      points += line.length / 2;
    }
    if (points < BATCH) continue;
    finish();
    yield;
    pen.beginPath();
    points = 0;
  }
  finish();
}

/** Dots at fixed places of the world, so that they move with the map. */
function* dots({pen, width, height, world, x, y, zoom}) {
  const spacing = DOTS_PX * 2 ** (zoom - Math.floor(zoom));
  pen.fillStyle = colour('--grid');
  for (let left = -(x % spacing); left < width; left += spacing) {
    for (let top = -(y % spacing); top < height; top += spacing) {
      pen.beginPath();
      pen.arc(left, top, 1.25, 0, 2 * Math.PI);
      pen.fill();
    }
    yield;
  }
}
