// The parts of a browser that the pages' modules need when they are loaded: an empty document, session storage and a clock that
// the test controls. Import this file before the pages' modules.

import {Clock} from './clock.mjs';

/** A target of browser events, which a test dispatches: `happens('offline')`. */
class Happening {
  #listeners = [];
  addEventListener(type, listener) { this.#listeners.push({type, listener}); }
  removeEventListener(type, listener) {
    this.#listeners = this.#listeners.filter((each) => each.type !== type || each.listener !== listener);
  }
  happens(type, event = {}) {
    for (const each of [...this.#listeners]) if (each.type === type) each.listener(event);
  }
}

/** An element: text, attributes and children, without layout. */
export class Place extends Happening {
  #text = '';
  get textContent() { return this.#text + this.children.map((child) => child.textContent ?? child).join(''); }
  set textContent(text) { [this.#text, this.children] = [text, []]; }
  hidden = true;
  dataset = {};
  hasChildNodes() { return this.children.length > 0; }
  children = [];
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { [this.#text, this.children] = ['', children]; }
  querySelectorAll(tag) {
    return this.children.flatMap((child) => (child instanceof Place
      ? [...(child.tag === tag ? [child] : []), ...child.querySelectorAll(tag)] : []));
  }
  querySelector(tag) { return this.querySelectorAll(tag)[0] ?? null; }
  contains(other) { return this.children.includes(other); }
  attributes = new Map();
  setAttribute(name, value) { this.attributes.set(name, value); }
  removeAttribute(name) { this.attributes.delete(name); }
  getAttribute(name) { return this.attributes.get(name) ?? null; }
  focus() { page.activeElement = this; }
}

/** Web storage: stores strings, as a browser does. */
class Storage {
  #kept = new Map();
  getItem(key) { return this.#kept.get(key) ?? null; }
  setItem(key, value) { this.#kept.set(key, String(value)); }
  removeItem(key) { this.#kept.delete(key); }
  clear() { this.#kept.clear(); }
}

export const browser = new Happening();
export const page = Object.assign(new Happening(), {
  hidden: false, documentElement: {lang: 'en'}, createElement: (tag) => Object.assign(new Place(), {tag}),
  querySelectorAll: () => [], querySelector: () => null, activeElement: null,
});

const worker = {told: []};
worker.controller = {postMessage: (message) => worker.told.push(message)};

/** The browser's `navigator`; tests may change it. */
export const device = {onLine: true, languages: ['en-US'], serviceWorker: worker, userAgent: ''};

const define = (name, value) => Object.defineProperty(globalThis, name, {value, configurable: true, writable: true});
/**
 * A phone with location permission. `read()` delivers a position to all watchers, `fails(1)` an error, and `looks` counts the
 * single requests.
 */
export const phone = {
  watchers: new Map(), looks: 0, permission: 'granted',
  read(place = {latitude: 41, longitude: 12, accuracy: 8}) {
    for (const {found} of [...this.watchers.values()]) found({coords: place, timestamp: Date.now()});
  },
  statuses: [],
  /** The rider changes the permission in the settings. */
  permit(permission) {
    this.permission = permission;
    for (const status of this.statuses) status.happens('change');
  },
  fails(code) { for (const {failed} of [...this.watchers.values()]) failed({code}); },
};
let nextWatch = 1;
class Permission extends Happening {
  constructor() {
    super();
    phone.statuses.push(this);
  }

  get state() { return phone.permission; }
}
device.permissions = {query: async () => new Permission()};
device.geolocation = {
  watchPosition: (found, failed) => { phone.watchers.set(nextWatch, {found, failed}); return nextWatch++; },
  clearWatch: (watch) => phone.watchers.delete(watch),
  getCurrentPosition: () => { phone.looks += 1; },
};

define('document', page);
define('navigator', device);
define('sessionStorage', new Storage());
define('location', Object.assign(new URL('https://enroute.example/rider'), {
  loads: 0,
  reload() { this.loads += 1; },
}));
define('history', {state: null, replaceState(state, _, address) { Object.assign(this, {state, address}); }});
define('matchMedia', () => new Happening());
define('isSecureContext', true);
define('addEventListener', (type, listener) => browser.addEventListener(type, listener));
define('removeEventListener', (type, listener) => browser.removeEventListener(type, listener));

/** Replaces the page's timers with a clock that the test controls, until the test ends. */
export function ownClock(test) {
  const clock = new Clock();
  test.mock.method(globalThis, 'setTimeout', clock.timers.setTimeout);
  test.mock.method(globalThis, 'clearTimeout', clock.timers.clearTimeout);
  return clock;
}
