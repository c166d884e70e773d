// The map of the rider's page: the rider, the stops with their numbers, and the route to the next one. It is drawn like the
// customer's map. One finger scrolls the page, two move the map; then "Follow" returns the camera. Leaflet (`L`) is loaded
// with the first stop that has a place, because a rider without a task needs no map.

import {decodePolyline} from './enroute-route.js';
import {colour, make, onThemeChange, put, wantsStillness} from './page.js';
import {gateway} from './page-gateway.js';
import {BaseMap} from './track-base-map.js';

// Highest zoom level that the camera chooses.
const CLOSEST = 17;
// px around what the camera shows; the zoom buttons are in the upper right corner.
const ROOM = 44;
const FREE = {paddingTopLeft: [ROOM, 80], paddingBottomRight: [80, ROOM]};
// Zoom levels by which the camera must get closer to be worth a move.
const WORTH = 1;

/** Loads the map library once. page-rescue.js loads it again if it gets lost. @param ready is called when it is there */
function loadLibrary(ready) {
  if (globalThis.L) return ready();
  document.addEventListener('load', ({target}) => { if (target.dataset?.makes === 'L') ready(); }, {capture: true});
  if (document.querySelector('script[data-makes]')) return undefined;
  return document.head.append(make('script', {src: `${gateway}/assets/leaflet/leaflet.js`, 'data-makes': 'L'}));
}

const latLng = ({lat, lon}) => [lat, lon];

export class RiderMap {
  #map = null;
  #isLoading = false;
  #base = null;
  #pins = [];
  #me = null;
  #round = null;
  #way = null;
  #rest = null;
  #follows = true;
  #drawn = '';
  #shown = {stops: [], me: null, route: null};

  /** @param {{element: Element, follow: Element, words: object}} places */
  constructor({element, follow, words}) {
    Object.assign(this, {element, follow, words});
    follow.addEventListener('click', () => {
      this.#follows = true;
      follow.hidden = true;
      this.element.focus({preventScroll: true});
      this.#fit(true);
    });
    onThemeChange(() => this.#repaint());
  }

  /**
   * @param {{number: number, kind: string, place: object}[]} stops those with a place, in order
   * @param {{lat: number, lon: number, acc?: number}|null} me where the rider is
   * @param {string|undefined} route `eta.route` of the next stop
   */
  show({stops, me, route}) {
    this.#shown = {stops, me, route: route ? decodePolyline(route) : null};
    if (stops.length === 0) return;
    if (this.#map) return this.#draw();
    if (this.#isLoading) return;
    this.#isLoading = true;
    loadLibrary(() => {
      if (!this.#map) this.#build();
      this.#draw();
    });
  }

  /** Closes the map, because there are no stops left. */
  close() {
    this.#map?.remove();
    this.#map?.off();
    [this.#map, this.#base, this.#me, this.#round, this.#way, this.#rest] = [null, null, null, null, null, null];
    [this.#pins, this.#drawn, this.#follows, this.#isLoading] = [[], '', true, false];
    this.follow.hidden = true;
  }

  #build = () => {
    const isStill = wantsStillness();
    const map = L.map(this.element, {
      dragging: !matchMedia('(pointer: coarse)').matches, tap: false, zoomControl: false, attributionControl: false, zoomSnap: 0.25,
      fadeAnimation: !isStill, zoomAnimation: !isStill, markerZoomAnimation: !isStill, inertia: !isStill, minZoom: 3, maxZoom: 19,
    });
    this.#map = map;
    L.control.zoom({position: 'topright', zoomInTitle: this.words.zoomIn, zoomOutTitle: this.words.zoomOut}).addTo(map);
    map.setView(latLng(this.#shown.stops[0].place), 15);
    this.#base = new BaseMap(map);
    const taken = () => {
      this.#follows = false;
      this.follow.hidden = false;
    };
    map.on('dragstart', taken);
    this.element.querySelector('.leaflet-control-zoom').addEventListener('click', taken, {capture: true});
    this.element.addEventListener('wheel', taken, {passive: true});
    this.element.addEventListener('dblclick', taken);
    this.element.addEventListener('touchmove', ({touches}) => { if (touches.length > 1) taken(); }, {passive: true});
    this.element.addEventListener('keydown', ({key}) => { if (/^(Arrow|[+=\-_]$)/.test(key)) taken(); });
    const observer = new ResizeObserver(() => {
      if (this.#map !== map) return observer.disconnect();
      map.invalidateSize({animate: false, pan: false});
      if (this.#follows) this.#fit(false);
      return undefined;
    });
    observer.observe(this.element);
  };

  #draw = () => {
    const {stops, me, route} = this.#shown;
    const drawn = JSON.stringify(stops.map(({number, kind, place}) => [number, kind, place]));
    const isNew = drawn !== this.#drawn;
    if (isNew) {
      this.#drawn = drawn;
      for (const pin of this.#pins) pin.remove();
      this.#pins = stops.map(({number, kind, place}) => this.#pin(place, `stop ${kind}${number === 1 ? ' next' : ''}`, String(number), 30)
        .setZIndexOffset(100 - number));
      this.#base.avoid(stops.map(({place}) => latLng(place)));
    }
    this.#drawMe(me);
    this.#drawWay(stops, me, route);
    if (this.#follows && (isNew || this.#isWorthAMove())) this.#fit(!isNew);
  };

  #pin = (place, className, text, size) => L.marker(latLng(place), {
    icon: L.divIcon({className, html: text && `<span>${text}</span>`, iconSize: [size, size]}),
    keyboard: false, interactive: false, alt: '',
  }).addTo(this.#map);

  #drawMe = (me) => {
    if (!me) {
      for (const layer of [this.#me, this.#round]) layer?.remove();
      [this.#me, this.#round] = [null, null];
      return;
    }
    if (this.#me) this.#me.setLatLng(latLng(me));
    else this.#me = this.#pin(me, 'me', '', 22).setZIndexOffset(1000);
    const radius = me.acc ?? 0;
    if (this.#round) this.#round.setLatLng(latLng(me)).setRadius(radius);
    else {
      this.#round = L.circle(latLng(me), {
        radius, stroke: false, fillColor: colour('--route'), fillOpacity: 0.15, interactive: false,
      }).addTo(this.#map);
    }
  };

  /** The way to the next stop along the streets if the gateway knows it; otherwise a dotted line, which is not a route. */
  #drawWay = (stops, me, route) => {
    for (const layer of [this.#way, this.#rest]) layer?.remove();
    const straight = {color: colour('--route'), weight: 3, dashArray: '1 9', lineCap: 'round', interactive: false};
    const [first, ...others] = stops.map(({place}) => latLng(place));
    this.#rest = others.length > 0 ? L.polyline([first, ...others], {...straight, opacity: 0.55}).addTo(this.#map) : null;
    const line = route ? route.map(latLng) : me ? [latLng(me), first] : null;
    this.#way = line && L.polyline(line, route
      ? {color: colour('--route'), weight: 5, lineCap: 'round', lineJoin: 'round', interactive: false} : straight).addTo(this.#map);
    this.element.dataset.way = line ? (route ? 'route' : 'straight') : 'none';
  };

  #repaint = () => {
    if (!this.#map) return;
    this.#base.repaint();
    this.#round?.setStyle({fillColor: colour('--route')});
    this.#draw();
  };

  /** The rider and the next stop; all stops while the rider's position is unknown. */
  #bounds = () => {
    const {stops, me} = this.#shown;
    return L.latLngBounds(me ? [latLng(me), latLng(stops[0].place)] : stops.map(({place}) => latLng(place)));
  };

  #fit = (isAnimated) => {
    this.#map.fitBounds(this.#bounds(), {
      ...FREE, maxZoom: CLOSEST, animate: isAnimated && !wantsStillness(), duration: 0.6,
    });
  };

  #isWorthAMove = () => {
    const map = this.#map;
    const size = map.getSize();
    const isOutside = ({x, y}) => x < ROOM / 2 || y < ROOM / 2 || x > size.x - ROOM / 2 || y > size.y - ROOM / 2;
    const bounds = this.#bounds();
    return [bounds.getNorthWest(), bounds.getSouthEast()].some((corner) => isOutside(map.latLngToContainerPoint(corner)))
      || Math.min(CLOSEST, map.getBoundsZoom(bounds, false, L.point(ROOM + 80, ROOM + 80))) - map.getZoom() >= WORTH;
  };
}

/** The card with the map and the list of stops. */
export class RouteCard {
  #drawn = '';

  /**
   * @param {{card: Element, tasks: Element, frame: Element, list: Element, map: RiderMap}} places `tasks`: the list of tasks
   * @param {{verb: (job: string, step: object) => void, first: (id: string) => void}} on
   */
  constructor(places, words, on) {
    Object.assign(this, {...places, words, on});
  }

  /**
   * @param {object[]} stops in order, each with `action`: `{verb, jobs: [{job, step}], isHeld}` or null
   * @param me where the rider is, or null
   */
  show(stops, me) {
    const placed = stops.map((stop, at) => ({number: at + 1, kind: stop.kind, place: stop.place, stop})).filter(({place}) => place);
    this.frame.hidden = placed.length === 0;
    // With a single task, the card of the task shows everything.
    const isListed = stops.length > 2 || stops.some(({jobs}) => jobs.length > 1);
    this.list.hidden = !isListed;
    this.card.hidden = placed.length === 0 && !isListed;
    // A single task has its button on its card, which is above the map then.
    const before = isListed ? this.tasks : this.tasks.nextElementSibling;
    if (before !== this.card && this.card.nextElementSibling !== before && !this.card.contains(document.activeElement)) {
      this.tasks.parentElement.insertBefore(this.card, before);
    }
    if (placed.length === 0) this.map.close();
    else {
      const [next] = placed;
      this.map.show({stops: placed, me, route: next.number === 1 && next.kind !== 'pickup' ? next.stop.jobs[0].view.eta?.route : null});
    }
    if (isListed) this.#list(stops);
  }

  #list = (stops) => {
    const drawn = JSON.stringify(stops.map(({id, jobs, action, title, detail, canBeFirst}) => [
      id, jobs.map(({job}) => job), action && [action.text, action.isHeld, action.jobs.map(({job}) => job)], title, detail, canBeFirst]));
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const held = this.list.contains(document.activeElement) ? document.activeElement.dataset.place : null;
    this.list.replaceChildren(...stops.map((stop, at) => this.#item(stop, at)));
    if (held) (this.list.querySelector(`[data-place="${CSS.escape(held)}"]`) ?? this.list.querySelector('button'))?.focus();
  };

  #item = (stop, at) => {
    const {words} = this;
    const {id, kind, action} = stop;
    const detail = make('p', {class: 'quiet'});
    put(detail, stop.detail);
    const item = make('li', {'data-kind': kind, ...(at === 0 && {'aria-current': 'step'})},
      make('span', {class: 'number', 'aria-hidden': 'true'}, String(at + 1)),
      make('div', {class: 'words'}, make('b', {}, stop.title), detail));
    if (action) {
      const button = make('button', {
        type: 'button', class: 'primary', 'data-place': `act ${id}`, 'data-verb': action.verb, 'aria-disabled': String(action.isHeld),
      }, action.text);
      button.addEventListener('click', () => {
        if (button.getAttribute('aria-disabled') !== 'true') for (const {job, step} of action.jobs) this.on.verb(job, step);
      });
      item.append(button);
    } else if (at > 0 && stop.canBeFirst) {
      const button = make('button', {
        type: 'button', class: 'plain', 'data-place': `first ${id}`, 'aria-label': `${words.doFirst}: ${stop.title}`,
      }, words.doFirst);
      button.addEventListener('click', () => this.on.first(id));
      item.append(button);
    }
    return item;
  };
}
