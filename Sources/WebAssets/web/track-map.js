// The map of the customer's page: two markers and a camera. The camera keeps both markers in view until the customer moves
// the map, and again after they press "Follow". Leaflet (`L`) draws, track-movement.js computes the position,
// track-base-map.js draws the background. Frames are drawn only while something moves.

import {LEFT_ROUTE, Route} from './enroute-route.js';
import {colour, wantsStillness} from './page.js';
import {BaseMap} from './track-base-map.js';
import {homeIcon, riderIcon, shopIcon} from './track-icons.js';
import {Movement} from './track-movement.js';

// Highest zoom level that the camera chooses.
const CLOSEST = 17;
// The zoom buttons are at the side where lines of text end.
const isRightToLeft = document.dir === 'rtl';
/** Padding around the markers in px; the age and the zoom buttons are in the upper corners. */
const FREE = {paddingTopLeft: [isRightToLeft ? 80 : 44, 80], paddingBottomRight: [isRightToLeft ? 44 : 80, 44]};
// ms between two checks whether the camera must move.
const LOOK_EVERY = 1_000;
// Zoom levels by which the camera must get closer to be worth a move.
const WORTH = 1;
/** The line ahead: the route, if the gateway sent one, otherwise a dotted straight line, which is not a route. */
const WAYS = {
  route: {weight: 5, opacity: 0.75, dashArray: null}, line: {weight: 3, opacity: 1, dashArray: '1 9'},
};

/** A marker with sub-pixel positions. Leaflet rounds to pixels, which makes slow movement jerky. */
const smooth = (place, options) => {
  const marker = L.marker(place, options);
  marker.update = function update() {
    if (this._icon && this._map) this._setPos(this._map.project(this._latlng).subtract(this._map.getPixelOrigin()));
    return this;
  };
  return marker;
};

/**
 * Leaflet loses track of a requested frame if it redraws for another reason. The frame may arrive after the map was removed.
 */
const ownCanvas = (options) => {
  const canvas = L.canvas(options);
  const redraw = canvas._redraw;
  canvas._redraw = function drawAgain() { if (this._ctx) redraw.call(this); };
  return canvas;
};

export class TrackMap {
  #map = null;
  #rider = null;
  #vehicle = null;
  #pins = {home: null, shop: null};
  #way = null;
  // Of the route.
  #polyline = null;
  #route = null;
  #baseMap = null;
  #follows = true;
  #frame = null;
  #lookedAt = 0;
  #isZooming = false;

  /**
   * @param element where to draw.
   * @param follow the button that returns the camera, shown after the customer moved the map.
   * @param now a monotonic clock in ms.
   */
  constructor(element, {follow, words, now = () => performance.now()}) {
    Object.assign(this, {element, follow, words, now});
    this.movement = new Movement({still: wantsStillness});
    follow.addEventListener('click', () => {
      this.#follows = true;
      follow.hidden = true;
      // The button disappears, so the map gets its keyboard focus.
      this.element.focus({preventScroll: true});
      this.#fit(true);
    });
  }

  get isOpen() { return this.#map !== null; }
  get hasRider() { return this.#rider !== null; }

  /** Shows the map: the kind of job, the destination, where the order comes from, the rider's vehicle. Unchanged parts stay. */
  open(kind, destination, shop = null, vehicle = null) {
    // If Leaflet failed to load, the sentence below the map says where the rider is.
    if (!globalThis.L) return;
    if (!this.#map) this.#build();
    this.kind = kind;
    const isNewVehicle = vehicle !== this.#vehicle;
    if (isNewVehicle) {
      this.#vehicle = vehicle;
      this.#rider?.remove();
      this.#rider = null;
    }
    const home = {className: 'home', html: homeIcon, iconSize: [40, 48], iconAnchor: [20, 47]};
    const store = {className: 'shop', html: shopIcon, iconSize: [34, 41], iconAnchor: [17, 40]};
    const isNewHome = this.#pin('home', destination, home, this.words.homeOnMap);
    const isNewShop = this.#pin('shop', shop, store, this.words.shopOnMap);
    if (isNewHome || isNewShop) {
      this.#fit(false);
      const pins = Object.values(this.#pins).filter(Boolean).map((pin) => pin.getLatLng());
      this.#baseMap.avoid(pins.map(({lat, lng}) => [lat, lng]));
    }
    // Not earlier: a rider out of view would start a zoom that ends without the destination.
    if (isNewVehicle) this.#draw(this.now());
  }

  /** Sets a pin at a place, or removes it. @returns whether that changed anything */
  #pin = (name, place, icon, alt) => {
    const there = this.#pins[name]?.getLatLng();
    if (place?.lat === there?.lat && place?.lon === there?.lng) return false;
    this.#pins[name]?.remove();
    this.#pins[name] = place ? L.marker([place.lat, place.lon], {
      icon: L.divIcon(icon), alt, keyboard: false, interactive: false,
    }).addTo(this.#map) : null;
    return true;
  };

  /** Shows a position. The first appears immediately; the marker moves to the following ones. @param age ms */
  take(position, {age = 0, atOnce = false} = {}) {
    const isFirst = this.movement.isEmpty;
    this.movement.take(position, this.now(), {age, atOnce});
    if (!this.#map) return;
    if (isFirst) this.#fit(false);
    this.#draw(this.now());
    this.#run();
  }

  /** Takes the route ahead, or removes it. @param route the member `route` of the arrival time */
  ahead(route) {
    const polyline = route?.polyline ?? null;
    if (polyline === this.#polyline) return;
    this.#polyline = polyline;
    this.#route = Route.of(route);
    const now = this.now();
    this.movement.follow(this.#route, now);
    const place = this.movement.at(now);
    if (!this.#map || !place) return;
    this.#drawWay(place);
    this.#run();
  }

  /** Grays the marker out: the rider may be elsewhere by now. */
  mark(isStale) {
    this.#rider?.getElement()?.classList.toggle('stale', isStale);
  }

  /** Removes the rider and the map. The next map starts from scratch. */
  close() {
    cancelAnimationFrame(this.#frame);
    delete this.element.dataset.way;
    if (this.#map) {
      this.#map.remove();
      // Leaflet ends a zoom with its own timer and frame, which would look for the removed map.
      this.#map._animatingZoom = false;
      this.#map.off();
    }
    this.#isZooming = false;
    [this.#map, this.#rider, this.#way, this.#frame, this.#baseMap] = [null, null, null, null, null];
    this.#pins = {home: null, shop: null};
    this.#follows = true;
    this.follow.hidden = true;
    [this.#polyline, this.#route] = [null, null];
    this.movement.forget();
  }

  /** Redraws in the colors of the current theme. */
  repaint() {
    this.#baseMap?.repaint();
    this.#way?.setStyle({color: colour('--route')});
  }

  #build = () => {
    const map = L.map(this.element, {
      // One finger scrolls the page, two move the map. With a mouse, dragging is expected.
      dragging: !matchMedia('(pointer: coarse)').matches,
      tap: false, zoomControl: false, attributionControl: false, zoomSnap: 0.25, zoomDelta: 1, wheelPxPerZoomLevel: 120,
      fadeAnimation: !wantsStillness(), zoomAnimation: !wantsStillness(), markerZoomAnimation: !wantsStillness(),
      inertia: !wantsStillness(), minZoom: 3, maxZoom: 19, renderer: ownCanvas({padding: 0.3}),
    });
    this.#map = map;
    const position = isRightToLeft ? 'topleft' : 'topright';
    L.control.zoom({position, zoomInTitle: this.words.zoomIn, zoomOutTitle: this.words.zoomOut}).addTo(map);
    map.setView([0, 0], 14);
    this.#baseMap = new BaseMap(map);
    map.on('dragstart', this.#taken);
    map.on('zoomanim', () => { this.#isZooming = true; });
    map.on('zoomend', () => { this.#isZooming = false; this.#draw(this.now()); });
    this.element.querySelector('.leaflet-control-zoom').addEventListener('click', this.#taken, {capture: true});
    this.element.addEventListener('wheel', this.#taken, {passive: true});
    this.element.addEventListener('dblclick', this.#taken);
    this.element.addEventListener(
      'touchmove', (event) => { if (event.touches.length > 1) this.#taken(); }, {passive: true});
    this.element.addEventListener('keydown', (event) => {
      if (/^(Arrow|[+=\-_]$)/.test(event.key)) this.#taken();
    });
    const observer = new ResizeObserver(() => {
      if (this.#map !== map) { observer.disconnect(); return; }
      map.invalidateSize({animate: false, pan: false});
      if (this.#follows) this.#fit(false);
    });
    observer.observe(this.element);
  };

  /** The customer moved the map: the camera stops following. */
  #taken = () => {
    this.#follows = false;
    this.follow.hidden = false;
  };

  #draw = (now) => {
    const place = this.movement.at(now);
    if (!this.#map || !place || this.#isZooming) return;
    if (!this.#rider) {
      this.#rider = smooth([place.lat, place.lon], {
        icon: L.divIcon({className: 'rider', html: riderIcon(this.#vehicle), iconSize: [60, 60]}),
        alt: this.words.riderOnMap[this.kind], keyboard: false, interactive: false, zIndexOffset: 1000,
      }).addTo(this.#map);
      this.pointer = this.#rider.getElement().querySelector('.pointer');
    }
    this.#rider.setLatLng([place.lat, place.lon]);
    const heading = this.movement.heading(now);
    this.pointer.style.transform = `rotate(${heading.toFixed(1)}deg)`;
    this.#rider.getElement().dataset.heading = Math.round(heading);
    if (now - this.#lookedAt < LOOK_EVERY) return;
    this.#lookedAt = now;
    this.#drawWay(place);
    if (this.#follows) this.#look(place);
  };

  /** Draws the rest of the route, from the marker on. Without one, a straight line that does not pretend to be a route. */
  #drawWay = (place) => {
    if (!this.#pins.home) { this.#way?.remove(); this.#way = null; return; }
    const spot = this.#route?.find(place, this.movement.along);
    const kind = spot && spot.away <= LEFT_ROUTE ? 'route' : 'line';
    const home = this.#pins.home.getLatLng();
    const line = kind === 'line' ? [[place.lat, place.lon], home]
      : [place, ...this.#route.from(spot.along)].map(({lat, lon}) => [lat, lon]);
    if (this.#way) this.#way.setLatLngs(line);
    else {
      this.#way = L.polyline(line, {
        color: colour('--route'), lineCap: 'round', lineJoin: 'round', interactive: false, ...WAYS[kind],
      }).addTo(this.#map);
    }
    if (this.element.dataset.way !== kind) this.#way.setStyle(WAYS[kind]);
    Object.assign(this.element.dataset, {way: kind, wayPlaces: line.length});
  };

  #run = () => {
    if (this.#frame !== null || !this.#map) return;
    const step = () => {
      const now = this.now();
      this.#draw(now);
      this.#frame = this.#map && this.movement.isMoving(now) ? requestAnimationFrame(step) : null;
    };
    this.#frame = requestAnimationFrame(step);
  };

  /** What the camera keeps in view: the rider and the destination, and before the trip where the order comes from. */
  #bounds = () => {
    const place = this.movement.isEmpty ? null : this.movement.at(this.now());
    const shown = [this.#pins.home, place ? null : this.#pins.shop].filter(Boolean).map((pin) => pin.getLatLng());
    return L.latLngBounds(place ? [[place.lat, place.lon], ...shown] : shown);
  };

  #fit = (isAnimated) => {
    const bounds = this.#map && this.#bounds();
    if (!bounds?.isValid()) return;
    this.#lookedAt = 0;
    this.#map.fitBounds(bounds, {
      ...FREE, maxZoom: CLOSEST, animate: isAnimated && !wantsStillness(), duration: 0.6,
    });
  };

  /** Moves the camera if the rider is near the edge, or if a much closer view would fit both markers. */
  #look = (place) => {
    const map = this.#map;
    const at = map.latLngToContainerPoint([place.lat, place.lon]);
    const size = map.getSize();
    const isInside = at.x > 40 && at.y > 40 && at.x < size.x - 40 && at.y < size.y - 40;
    const free = L.point(FREE.paddingTopLeft).add(FREE.paddingBottomRight);
    const best = Math.min(CLOSEST, map.getBoundsZoom(this.#bounds(), false, free));
    if (!isInside || best - map.getZoom() >= WORTH) this.#fit(true);
  };
}
