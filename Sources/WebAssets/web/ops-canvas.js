// The canvas of the map: draws thousands of markers per frame from pictures that are drawn once, and finds the marker under a
// pointer. A marker element for each would take the browser longer than a frame. A state is a shape and a color.

import {colour} from './page.js';

const TAU = 2 * Math.PI;
/** Half the size of a marker's picture, px. */
const HALF = 14;
/** How far from a marker's middle a pointer may be, px. */
const REACH = 16;
/** Frames over which the work per frame is averaged. */
const FRAMES = 60;

const COLOURS = {
  'rider late': '--bad', 'rider silent': '--stale', 'rider live': '--good', 'rider available': '--accent',
  'rider busy': '--warn', 'rider online': '--quiet', 'rider unreachable': '--stale', 'job problem': '--bad', 'job late': '--bad',
  'job risk': '--warn', 'job open': '--edge',
};
/** Colors of clusters by the rank of their worst marker. */
const CLUSTER_COLOURS = ['--bad', '--warn', '--accent'];

/** The line of the selected job: its route along streets, or a dotted straight line, which is not a route. */
const WAYS = {route: {lineWidth: 5, globalAlpha: 0.75}, line: {lineWidth: 3, globalAlpha: 1}};

/** How urgent a marker is, for its cluster: 0 needs attention, 1 is at risk, 2 is fine. */
export const rankOf = ({kind, state}) => {
  if (kind === 'job' ? state === 'problem' || state === 'late' : state === 'late' || state === 'silent') return 0;
  return state === 'risk' ? 1 : 2;
};

/** Draws the picture of a marker around the middle of a canvas. Legends use it too. */
export function drawMarker(context, kind, state) {
  const [fill, card] = [colour(COLOURS[`${kind} ${state}`]), colour('--card')];
  Object.assign(context, {fillStyle: fill, strokeStyle: card, lineWidth: 2, lineJoin: 'round', lineCap: 'round'});
  context.beginPath();
  if (kind === 'rider') {
    if (state === 'silent') polygon(context, [[0, -9], [9, 7], [-9, 7]]);
    else context.arc(0, 0, 8, 0, TAU);
  } else if (state === 'problem') polygon(context, [[-8, -8], [8, -8], [8, 8], [-8, 8]]);
  else polygon(context, [[0, -8], [8, 0], [0, 8], [-8, 0]]);
  context.fill();
  context.stroke();
  context.strokeStyle = context.fillStyle = card;
  context.beginPath();
  if (state === 'late' || state === 'problem' || state === 'silent') {
    const low = state === 'silent' ? 1 : 0;
    context.moveTo(0, -4 + low);
    context.lineTo(0, 1 + low);
    context.moveTo(0, 4 + low);
    context.lineTo(0, 4.2 + low);
    context.stroke();
  } else if (state === 'unreachable' || state === 'busy') {
    context.moveTo(-3.5, 0);
    context.lineTo(3.5, 0);
    context.stroke();
  } else if (state === 'available' || state === 'risk') {
    context.arc(0, 0, 2.5, 0, TAU);
    context.fill();
  }
}

function polygon(context, points) {
  points.forEach(([x, y], at) => context[at === 0 ? 'moveTo' : 'lineTo'](x, y));
  context.closePath();
}

export class MarkerCanvas {
  #context;
  #pictures = new Map();
  #ratio = 1;
  #size = {x: 0, y: 0};
  #work = [];
  #count = 0;
  #shown = [];              // what the last frame drew: [x, y, index] and clusters

  constructor(canvas) {
    this.canvas = canvas;
    this.#context = canvas.getContext('2d');
  }

  /** Forgets the pictures, which have the colors of another theme. */
  repaint() { this.#pictures.clear(); }

  /** @param size of the map in px */
  fit(size, ratio = globalThis.devicePixelRatio || 1) {
    if (size.x === this.#size.x && size.y === this.#size.y && ratio === this.#ratio) return;
    [this.#size, this.#ratio] = [{x: size.x, y: size.y}, ratio];
    Object.assign(this.canvas, {width: Math.round(size.x * ratio), height: Math.round(size.y * ratio)});
    Object.assign(this.canvas.style, {width: `${size.x}px`, height: `${size.y}px`});
    this.#pictures.clear();
  }

  /**
   * Draws a frame.
   * @param view `{scale, left, top}`: a world coordinate times `scale` minus `left` or `top` is a px of the map
   * @param chosen indices of the markers of the selected job; `way` between them, as `Way.from` returns it, or null
   */
  draw(field, {clusters, singles}, view, chosen, way) {
    const startedAt = performance.now();
    const [context, {x: width, y: height}] = [this.#context, this.#size];
    context.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const shown = [];
    this.#drawChosen(field, view, chosen, way);
    for (const at of singles) {
      const x = field.xs[at] * view.scale - view.left;
      const y = field.ys[at] * view.scale - view.top;
      if (x < -HALF || y < -HALF || x > width + HALF || y > height + HALF) continue;
      const {kind, state, heading} = field.markers[at];
      context.drawImage(this.#picture(kind, state), x - HALF, y - HALF, 2 * HALF, 2 * HALF);
      if (heading !== null && state !== 'silent') this.#drawHeading(x, y, heading);
      shown.push({x, y, at});
    }
    for (const cluster of clusters) {
      const x = cluster.x * view.scale - view.left;
      const y = cluster.y * view.scale - view.top;
      if (x < -32 || y < -32 || x > width + 32 || y > height + 32) continue;
      shown.push({x, y, cluster, reach: this.#drawCluster(x, y, cluster)});
    }
    this.#shown = shown;
    this.#note(performance.now() - startedAt, field.markers.length);
  }

  /** Returns `{at}` or `{cluster}` under a point of the map, or null. */
  find({x, y}) {
    let [best, distance] = [null, Infinity];
    for (const each of this.#shown) {
      const away = Math.hypot(each.x - x, each.y - y);
      if (away <= (each.reach ?? REACH) && away <= distance) [best, distance] = [each, away];
    }
    return best;
  }

  #picture = (kind, state) => {
    const name = `${kind} ${state}`;
    let picture = this.#pictures.get(name);
    if (!picture) {
      picture = document.createElement('canvas');
      picture.width = picture.height = Math.round(2 * HALF * this.#ratio);
      const context = picture.getContext('2d');
      context.setTransform(this.#ratio, 0, 0, this.#ratio, HALF * this.#ratio, HALF * this.#ratio);
      drawMarker(context, kind, state);
      this.#pictures.set(name, picture);
    }
    return picture;
  };

  /** A small arrow head outside the circle. */
  #drawHeading = (x, y, heading) => {
    const context = this.#context;
    const angle = (heading - 90) * Math.PI / 180;
    context.fillStyle = this.#colour('--good');
    context.beginPath();
    context.moveTo(x + Math.cos(angle) * 14, y + Math.sin(angle) * 14);
    context.lineTo(x + Math.cos(angle + 0.5) * 9.5, y + Math.sin(angle + 0.5) * 9.5);
    context.lineTo(x + Math.cos(angle - 0.5) * 9.5, y + Math.sin(angle - 0.5) * 9.5);
    context.closePath();
    context.fill();
  };

  #drawCluster = (x, y, {count, rank}) => {
    const context = this.#context;
    const radius = 14 + Math.min(14, Math.log10(count) * 6);
    context.beginPath();
    context.arc(x, y, radius, 0, TAU);
    Object.assign(context, {fillStyle: this.#colour('--card'), lineWidth: 3, strokeStyle: this.#colour(CLUSTER_COLOURS[rank])});
    context.fill();
    context.stroke();
    Object.assign(context, {
      fillStyle: this.#colour('--ink'), font: '600 12px system-ui, sans-serif', textAlign: 'center', textBaseline: 'middle',
    });
    context.fillText(count > 999 ? `${Math.floor(count / 100) / 10}k` : String(count), x, y + 0.5);
    return radius + 2;
  };

  /** A ring around the rider and the destination of the selected job, and the line between them. */
  #drawChosen = (field, view, chosen, way) => {
    const context = this.#context;
    const onMap = ([x, y]) => [x * view.scale - view.left, y * view.scale - view.top];
    Object.assign(context, {strokeStyle: this.#colour('--accent'), lineWidth: 3, lineJoin: 'round', lineCap: 'round'});
    if (way) {
      Object.assign(context, WAYS[way.kind]);
      context.setLineDash(way.kind === 'line' ? [2, 7] : []);
      context.beginPath();
      way.places.forEach((place, at) => context[at === 0 ? 'moveTo' : 'lineTo'](...onMap(place)));
      context.stroke();
      context.setLineDash([]);
      Object.assign(context, {lineWidth: 3, globalAlpha: 1});
    }
    for (const at of chosen) {
      context.beginPath();
      context.arc(...onMap([field.xs[at], field.ys[at]]), 17, 0, TAU);
      context.stroke();
    }
  };

  /** Reading a color of the style sheet takes longer than drawing a marker. */
  #colour = (name) => {
    let known = this.#pictures.get(name);
    if (!known) this.#pictures.set(name, known = colour(name));
    return known;
  };

  /** Reports the work per frame once in a while, for whoever measures the page. */
  #note = (ms, count) => {
    if (count !== this.#count) this.canvas.dataset.markers = this.#count = count;
    this.#work.push(ms);
    if (this.#work.length < FRAMES) return;
    const sum = this.#work.reduce((all, each) => all + each, 0);
    Object.assign(this.canvas.dataset, {
      work: (sum / FRAMES).toFixed(2), longest: Math.max(...this.#work).toFixed(2),
    });
    this.#work = [];
  };
}
