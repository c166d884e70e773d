// The map of a zone: riders by state, jobs by lateness. Leaflet (`L`) moves the map, ops-field.js computes where everything
// is, ops-canvas.js draws. The table lists the same jobs, so nothing is reachable only through the map.

import {make, onThemeChange, put, wantsStillness} from './page.js';
import {MarkerCanvas, drawMarker, rankOf} from './ops-canvas.js';
import {Field, Way} from './ops-field.js';
import {jobStates, riderStates, tally} from './ops-places.js';
import {BaseMap} from './ops-base-map.js';

const CLOSEST = 17;            // highest zoom level that the camera chooses
const CHOSEN = 15;             // zoom level at which a selected job is shown, at least
const PADDING = 20;            // px around what the camera shows
const BUTTONS = 80;            // px at the right, where the zoom buttons are, and at the left, so that the middle stays there
const FREE = {padding: [BUTTONS, PADDING]};
const LEGEND = [...riderStates.map((state) => ['rider', state]), ...jobStates.map((state) => ['job', state])];

export class FleetMap {
  #map = null;
  #baseMap = null;
  #markers = null;
  #field = new Field();
  #groups = {clusters: [], singles: []};
  #chosen = null;
  #chosenMarkers = [];
  #way = new Way();
  #frame = null;
  #fitted = '';         // 'some' or 'all' of the markers
  #hidden = new Set();
  #all = [];

  /**
   * @param panel the card with `.map`, `.legend` and `.tip`.
   * @param choose called with the job of an activated marker; `about(marker)` returns its text
   */
  constructor(panel, {words, choose, about, now = () => performance.now()}) {
    Object.assign(this, {panel, words, choose, about, now});
    [this.element, this.legend, this.tip] = ['.map', '.legend', '.tip'].map((name) => panel.querySelector(name));
    panel.querySelector('.fit').addEventListener('click', () => this.fit());
    this.#makeLegend();
    onThemeChange(() => this.repaint());
  }

  get isOpen() { return this.#map !== null; }

  /** Shows the markers from the next frame on. @param isWhole whether these are all of the zone */
  show(markers, isWhole = this.#fitted === 'all') {
    this.#all = markers;
    this.#count(markers);
    // If Leaflet failed to load, the table shows everything that the map would.
    if (!globalThis.L) return;
    if (!this.#map) this.#build();
    const visible = this.#hidden.size === 0 ? markers : markers.filter(({kind}) => !this.#hidden.has(kind));
    this.#field.update(visible, this.now(), wantsStillness());
    this.#regroup();
    const fitted = isWhole ? 'all' : this.#fitted || 'some';
    if (visible.length > 0 && fitted !== this.#fitted) {
      this.#fitted = fitted;
      this.fit();
    }
    this.#choose();
    this.#request();
  }

  /** Marks the rider and the destination of a job, and brings them into view. @param job null for none */
  chosen(job) {
    if (job === this.#chosen) return;
    this.#chosen = job;
    this.#choose();
    if (this.#map && this.#chosenMarkers.length > 0) this.#look();
    this.#request();
  }

  /** Shows the route ahead of the selected job's rider, or none. @param route the member `route` of `eta`, or null */
  ahead(route) {
    if (this.#way.take(route)) this.#request();
  }

  /** Starts again, for another zone. */
  clear() {
    this.#fitted = '';
    this.show([]);
  }

  /** Shows all markers. */
  fit() {
    const {markers} = this.#field;
    if (!this.#map || markers.length === 0) return;
    this.#map.fitBounds(L.latLngBounds(markers.map(({lat, lon}) => [lat, lon])), {
      ...FREE, maxZoom: CLOSEST, animate: false,
    });
  }

  repaint() {
    this.#baseMap?.repaint();
    this.#markers?.repaint();
    this.#drawLegend();
    this.#request();
  }

  #build = () => {
    const isStill = wantsStillness();
    const map = L.map(this.element, {
      // One finger scrolls the page, two move the map.
      dragging: !matchMedia('(pointer: coarse)').matches, tap: false, zoomControl: false, attributionControl: false,
      zoomSnap: 0.1, zoomDelta: 1, wheelPxPerZoomLevel: 120, fadeAnimation: !isStill, zoomAnimation: false, inertia: !isStill,
      minZoom: 3, maxZoom: 19, scrollWheelZoom: true,
    });
    this.#map = map;
    L.control.zoom({position: 'topright', zoomInTitle: this.words.zoomIn, zoomOutTitle: this.words.zoomOut}).addTo(map);
    map.setView([0, 0], 3);
    this.#baseMap = new BaseMap(map);
    const canvas = make('canvas', {class: 'markers', 'aria-hidden': 'true'});
    map.getPanes().markerPane.append(canvas);
    this.#markers = new MarkerCanvas(canvas);
    map.on('move zoom resize viewreset', this.#request);
    map.on('zoomend', this.#regroup);
    map.on('click', this.#click);
    map.on('mousemove', this.#hover);
    map.on('mouseout dragstart zoomstart', () => put(this.tip, ''));
    new ResizeObserver(() => map.invalidateSize({animate: false, pan: false})).observe(this.element);
  };

  #regroup = () => {
    this.#groups = this.#field.clusters(this.#map.getZoom(), rankOf);
    this.#request();
  };

  #request = () => {
    if (!this.#map) return;
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.#draw();
    });
  };

  #draw = () => {
    const [map, now] = [this.#map, this.now()];
    const {min} = map.getPixelBounds();
    this.#markers.fit(map.getSize());
    L.DomUtil.setPosition(this.#markers.canvas, map.containerPointToLayerPoint([0, 0]));
    this.#field.move(now);
    const view = {scale: 256 * 2 ** map.getZoom(), left: min.x, top: min.y};
    this.#markers.draw(this.#field, this.#groups, view, this.#chosenMarkers, this.#wayNow());
    if (this.#field.isMoving(now)) this.#request();
  };

  /** A rider with several jobs has one marker, which names one of them. */
  #choose = () => {
    const [job, {markers}] = [this.#chosen, this.#field];
    const rider = markers[this.#field.at(`job:${job}`)]?.rider;
    this.#chosenMarkers = job === null ? [] : [...markers.keys()].filter(
      (at) => markers[at].job === job || (rider && markers[at].kind === 'rider' && markers[at].rider === rider));
  };

  /** The route of the selected job from where its rider is drawn now. */
  #wayNow = () => {
    const [rider, home] = ['rider', 'job'].map((kind) => {
      const at = this.#chosenMarkers.find((each) => this.#field.markers[each].kind === kind);
      return at === undefined ? null : [this.#field.xs[at], this.#field.ys[at]];
    });
    const way = this.#way.from(rider, home);
    // For tests and people who examine the page: the content of a canvas is not accessible otherwise.
    if (way) Object.assign(this.element.dataset, {way: way.kind, wayPlaces: way.places.length});
    else for (const name of ['way', 'wayPlaces']) delete this.element.dataset[name];
    return way;
  };

  /** Moves the camera only if the selection is not in view. */
  #look = () => {
    const map = this.#map;
    const places = this.#chosenMarkers.map((at) => this.#field.markers[at]).map(({lat, lon}) => [lat, lon]);
    const size = map.getSize();
    const isInView = places.map((place) => map.latLngToContainerPoint(place)).every(
      ({x, y}) => x >= BUTTONS && y >= PADDING && x <= size.x - BUTTONS && y <= size.y - PADDING);
    if (isInView && map.getZoom() >= CHOSEN) return;
    map.fitBounds(L.latLngBounds(places), {...FREE, maxZoom: CLOSEST - 1, animate: false});
  };

  #click = ({containerPoint}) => {
    const found = this.#markers.find(containerPoint);
    if (found?.cluster) {
      const members = found.cluster.members.map((at) => this.#field.markers[at]);
      this.#map.fitBounds(L.latLngBounds(members.map(({lat, lon}) => [lat, lon])), {
        ...FREE, maxZoom: Math.min(CLOSEST, this.#map.getZoom() + 3), animate: false,
      });
    } else if (found) {
      const marker = this.#field.markers[found.at];
      if (marker.job) this.choose(marker.job);
    }
  };

  #hover = ({containerPoint}) => {
    const found = this.#markers.find(containerPoint);
    put(this.tip, !found ? '' : found.cluster ? this.words.clusterOf(found.cluster.count)
      : this.about(this.#field.markers[found.at]));
    this.element.classList.toggle('is-over', Boolean(found));
    if (found) this.tip.style.transform = `translate(${Math.round(found.x)}px, ${Math.round(found.y)}px)`;
  };

  // ---- the legend, which is the text of the map ----

  #makeLegend = () => {
    const group = (kind) => {
      const button = make('button', {type: 'button', 'aria-pressed': 'true', class: 'plain'}, this.words.mapKinds[kind]);
      button.addEventListener('click', () => {
        const isShown = this.#hidden.delete(kind) || !this.#hidden.add(kind);
        button.setAttribute('aria-pressed', String(isShown));
        this.show(this.#all);
      });
      return make('li', {class: 'kind'}, button);
    };
    const items = LEGEND.map(([kind, state]) => {
      const item = make('li', {'data-marker': `${kind} ${state}`},
        make('canvas', {width: 40, height: 40, 'aria-hidden': 'true'}), `${this.words.markers[`${kind} ${state}`]} `,
        make('span', {class: 'tally'}, '0'));
      return item;
    });
    const first = items.findIndex((item) => item.dataset.marker.startsWith('job'));
    this.legend.replaceChildren(group('rider'), ...items.slice(0, first), group('job'), ...items.slice(first));
    this.#drawLegend();
  };

  #drawLegend = () => {
    for (const canvas of this.legend.querySelectorAll('canvas')) {
      const context = canvas.getContext('2d');
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, 40, 40);
      context.setTransform(1.8, 0, 0, 1.8, 20, 20);
      drawMarker(context, ...canvas.parentElement.dataset.marker.split(' '));
    }
  };

  #count = (markers) => {
    const counts = tally(markers);
    for (const item of this.legend.querySelectorAll('[data-marker]')) {
      const count = counts[item.dataset.marker] ?? 0;
      put(item.lastChild, String(count));
      item.hidden = count === 0;
    }
  };
}
