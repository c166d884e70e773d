// As much of a browser as the files of the pages ask for when they are loaded: a document without anything in it, a tab's
// storage, and a time that is the test's. It is there once this file is imported; the pages' files are imported after it.

import {Clock} from './clock.mjs';

/** What a page is told by the browser and by people: `happens('offline')`. */
class Happening {
  #listeners = [];
  addEventListener(type, listener) { this.#listeners.push({type, listener}); }
  happens(type, event = {}) {
    for (const each of this.#listeners) if (each.type === type) each.listener(event);
  }
}

/** An element that holds a text. */
export class Place extends Happening {
  textContent = '';
  hidden = true;
  dataset = {};
  hasChildNodes() { return this.children.length > 0; }
  children = [];
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  contains(other) { return this.children.includes(other); }
  attributes = new Map();
  setAttribute(name, value) { this.attributes.set(name, value); }
  removeAttribute(name) { this.attributes.delete(name); }
  getAttribute(name) { return this.attributes.get(name) ?? null; }
  focus() { page.activeElement = this; }
}

/** As in a browser, by strings. */
class Storage {
  #kept = new Map();
  getItem(key) { return this.#kept.get(key) ?? null; }
  setItem(key, value) { this.#kept.set(key, String(value)); }
  removeItem(key) { this.#kept.delete(key); }
  clear() { this.#kept.clear(); }
}

export const browser = new Happening();
export const page = Object.assign(new Happening(), {
  hidden: false, documentElement: {lang: 'en'}, createElement: () => new Place(), querySelectorAll: () => [],
  querySelector: () => null, activeElement: null,
});

const worker = {told: []};
worker.controller = {postMessage: (message) => worker.told.push(message)};

/** What the browser says of itself; a test may say otherwise. */
export const device = {onLine: true, languages: ['en-US'], serviceWorker: worker, userAgent: ''};

const define = (name, value) => Object.defineProperty(globalThis, name, {value, configurable: true, writable: true});
/** A phone that locates and may; `read()` gives whoever watches a reading, `looks` counts the rough ones; `fails(1)`
 * tells them that it is not let any more. */
export const phone = {
  watchers: new Map(), looks: 0, permission: 'granted',
  read(place = {latitude: 41, longitude: 12, accuracy: 8}) {
    for (const {found} of [...this.watchers.values()]) found({coords: place, timestamp: Date.now()});
  },
  fails(code) { for (const {failed} of [...this.watchers.values()]) failed({code}); },
};
let nextWatch = 1;
class Permission extends Happening {
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
define('history', {state: null, replaceState() {}});
define('matchMedia', () => new Happening());
define('isSecureContext', true);
define('addEventListener', (type, listener) => browser.addEventListener(type, listener));

/** From now on the page's timers are the clock's, until the test ends. */
export function ownClock(test) {
  const clock = new Clock();
  test.mock.method(globalThis, 'setTimeout', clock.timers.setTimeout);
  test.mock.method(globalThis, 'clearTimeout', clock.timers.clearTimeout);
  return clock;
}
