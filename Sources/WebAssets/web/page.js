// The shared parts of all pages: the language, the announcer for screen readers, the banner for a lost connection, and the
// system's preferences for colors and motion. Each page has a separate file with its own texts (track-words.js and so on);
// signing in is in page-sign-in.js. Pages call `inLanguage(words)` once, before anything else. Private functions are arrow
// functions in fields, so that they can be passed on.

import {addWords, readersLocale} from './enroute-words.js';
import {timeText} from './page-times.js';
import {gateway} from './page-gateway.js';
import {tabMemory} from './page-storage.js';
import {words as pageWords} from './page-words.js';

/**
 * What the operator's language files add to the page: `{languages, tag?, direction?, customer?, shared?, times?}`. With `tag`,
 * the page is in a language from a file, of which it contains the texts.
 */
const given = (() => {
  try {
    return JSON.parse(document.querySelector('script#languages')?.textContent ?? '{}');
  } catch {
    return {};
  }
})();

/** The languages of the pages, by their own names. */
export const languages = given.languages ?? {en: 'English', de: 'Deutsch'};

const primary = (tag) => (tag ?? '').toLowerCase().split('-')[0];
const wished = [new URLSearchParams(location.search).get('lang'), document.documentElement.lang].filter(Boolean);
const isGiven = (tag) => tag.toLowerCase() === given.tag?.toLowerCase();

/**
 * The page's language: from its address, or the one that the server chose by `Accept-Language`. A cached page has the texts of
 * one file at most.
 */
export const language = wished.map((tag) => (isGiven(tag) ? given.tag : primary(tag)))
  .find((tag) => tag === given.tag || tag in pageWords) ?? 'en';
const texts = language === given.tag ? given : {};
document.documentElement.lang = language;
document.documentElement.dir = texts.direction ?? 'ltr';
if (texts.times) addWords(language, texts.times);

/** The parameters of a built-in text: `(time) => …`. */
const parameters = (text) => /^\(?([^)=]*)\)?\s*=>/.exec(text.toString())[1].split(',').map((name) => name.trim());

/** Built-in texts with those of a language file in their place. A text with places for values becomes a function too. */
export function translated(builtIn, own) {
  if (own === undefined) return builtIn;
  if (typeof builtIn === 'function') {
    const names = parameters(builtIn);
    return (...values) => own.replace(/\{(\w+)\}/g, (_, name) => values[names.indexOf(name)]);
  }
  if (typeof builtIn === 'string' || Array.isArray(builtIn)) return own;
  return Object.fromEntries(Object.entries(builtIn).map(([name, text]) => [name, translated(text, own[name])]));
}

/** The locale for `Intl`: the reader's variant of the page's language. British clocks and units differ from American ones. */
export const locale = readersLocale(language, navigator.languages);

/** The shared texts in the page's language. */
export const shared = translated(pageWords[language] ?? pageWords.en, texts.shared);

/**
 * Returns the texts of a page in its language, and fills in those that the HTML names: `data-word="key"` for a text,
 * `data-label="key"` for an `aria-label`.
 */
export function inLanguage(words) {
  const chosen = {...shared, ...translated(words[language] ?? words.en, texts.customer)};
  for (const place of document.querySelectorAll('[data-word]')) place.textContent = chosen[place.dataset.word];
  for (const place of document.querySelectorAll('[data-label]')) {
    place.setAttribute('aria-label', chosen[place.dataset.label]);
  }
  return chosen;
}

/**
 * Loads the page in another language. The rest of the address stays, and so does what a browser without storage would lose:
 * the tab's history holds it for this one reload.
 */
function switchTo(other) {
  const address = new URL(location);
  address.searchParams.set('lang', other);
  history.replaceState(tabMemory, '', address);
  location.reload();
}
Object.assign(tabMemory, history.state);
history.replaceState(null, '');

/** Turns a button into a switch to the other language, or into a list if there are more than two. */
export function languageSwitch(button) {
  const all = Object.keys(languages);
  if (all.length > 2) {
    const list = make('select', {id: button.id, 'aria-label': shared.language}, ...all.map((tag) =>
      make('option', {value: tag, lang: tag, selected: tag === language}, languages[tag])));
    list.addEventListener('change', () => switchTo(list.value));
    button.replaceWith(list);
    return;
  }
  const other = all[(all.indexOf(language) + 1) % all.length];
  button.textContent = languages[other];
  button.lang = other;
  button.hidden = false;
  button.addEventListener('click', () => switchTo(other));
}

/**
 * Creates an element: `make('p', {class: 'quiet', hidden: true}, 'text', child)`. Attributes that are null or false are
 * omitted.
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children);
  return element;
}

/** Sets the text of an element if it changed, so that nothing is announced or laid out again. Hides an element without text. */
export function put(element, text) {
  if (element.textContent !== (text ?? '')) element.textContent = text ?? '';
  if (element.hidden !== !text) element.hidden = !text;
}

/** ms in which a screen reader may not have read the last text yet, so that a new one is appended to it. */
const TOGETHER = 500;

/**
 * The only live region of a page: a `role=status` that exists from the start. It speaks at most once in `quiet` ms. Texts
 * that arrive earlier wait, the newest of each topic, and are announced together. Urgent texts are announced immediately
 * (WCAG 2.1, 4.1.3) and do not delay the others.
 */
export class Announcer {
  #waiting = new Map();
  #spokenAt = -Infinity;
  #quietSince = -Infinity;    // when a waiting text was announced last
  #timer = null;

  constructor(
    element, {quiet = 30_000, now = () => performance.now(), later = (act, ms) => setTimeout(act, ms)} = {},
  ) {
    Object.assign(this, {element, quiet, now, later});
  }

  /** Announces a text now, or after the quiet time unless a newer text of its topic replaces it. */
  say(topic, text, {isUrgent = false} = {}) {
    if (!text) return;
    this.#waiting.delete(topic);
    if (isUrgent) return this.#put(text);
    this.#waiting.set(topic, text);
    if (this.#timer !== null) return;
    const wait = this.#quietSince + this.quiet - this.now();
    if (wait <= 0) this.#speak();
    else this.#timer = this.later(() => this.#speak(), wait);
  }

  /** Drops a waiting text that is no longer true. */
  unsay(topic) {
    this.#waiting.delete(topic);
  }

  #speak = () => {
    this.#timer = null;
    if (this.#waiting.size === 0) return;
    const text = [...this.#waiting.values()].join(' ');
    this.#waiting.clear();
    this.#quietSince = this.now();
    this.#put(text);
  };

  #put = (text) => {
    const now = this.now();
    const isRead = now - this.#spokenAt >= TOGETHER;
    const said = isRead || !this.element.textContent ? text : `${this.element.textContent} ${text}`;
    // A repeated text is news too, but screen readers only announce changes: a space makes it different.
    this.element.textContent = said === this.element.textContent ? `${said}\u00a0` : said;
    this.#spokenAt = now;
  };
}

/** The close code when the session limit is reached; the client tries again. */
const FULL = 4009;

/**
 * Shows that the connection is lost: immediately if the device is offline, otherwise after `patience` ms, because replacing a
 * socket takes a moment. Only the connection decides whether it is lost, since a device may wrongly report that it is
 * offline. An unresponsive gateway counts as lost, and a gateway without Redis as delayed. Each of these states is announced
 * once, and so is its end.
 */
export class ConnectionBanner {
  #lostAt = null;    // ms since the epoch: when the loss was noticed
  #timer = null;
  /** What the banner explains while there is no connection to wait for; '' for nothing. */
  notice = '';
  #announced = '';        // what was announced last: 'lost', 'degraded', a notice, or '' for a good connection
  // Before anyone signs in there is no connection to lose.
  #connection = {state: 'stopped'};

  /**
   * @param patience ms
   * @param hasState whether the page shows anything that can become out of date.
   * @param knownAt when a cached state was stored, in ms since the epoch; null if it came over this connection.
   * @param lastMessageAt when the last message was received, in ms since the epoch; a phone that slept notices the loss later.
   * @param isExplained whether the page itself says that the session limit is reached, so the banner does not repeat it.
   * @param say announces a text immediately.
   * @param words the texts, if a page has its own
   */
  constructor(element, {
    patience = 2_000, hasState = () => true, knownAt = () => null, lastMessageAt = () => null,
    isExplained = () => false, say = () => {}, words = shared,
  } = {}) {
    Object.assign(this, {element, patience, hasState, knownAt, lastMessageAt, isExplained, say, words});
  }

  /** @param connection the current `enroute.connection`; `notice`: what an open one lacks */
  update(connection) {
    this.#connection = connection;
    if (['connecting', 'open'].includes(connection.state)) this.notice = connection.notice ?? '';
    const isMissed = this.#isMissed();
    // Patience starts with the first report of a loss and is not extended by the next ones.
    if (isMissed && this.#lostAt === null) {
      this.#timer ??= setTimeout(() => {
        this.#timer = null;
        this.#show();
      }, this.patience);
    } else {
      clearTimeout(this.#timer);
      this.#timer = null;
    }
    // An unresponsive gateway already had time to respond.
    const isSaid = connection.silent || connection.state === 'waiting' && navigator.onLine === false;
    if (!isMissed || isSaid || this.#lostAt !== null) this.#show();
  }

  /** Shows why there is no connection and no attempt to get one. The text stays until the next attempt. */
  explain(text) {
    this.notice = text;
    this.#show();
  }

  get isLost() { return this.#lostAt !== null; }

  /** Whether a connection is open or wanted. */
  #isWanted = () => { return !['refused', 'stopped'].includes(this.#connection.state); };

  #isMissed = () => {
    const {state, silent = false} = this.#connection;
    return this.#isWanted() && (state !== 'open' || silent);
  };

  #show = () => {
    const {degraded} = this.#connection;
    const isExplained = this.#connection.close?.code === FULL && this.isExplained();
    const isLost = this.#isMissed() && !isExplained;
    if (!isLost) this.#lostAt = null;
    else this.#lostAt ??= Date.now();
    put(this.element, isLost ? this.#sentence() : degraded && this.#isWanted() ? shared.degraded : this.notice);
    this.element.dataset.state = isLost || this.notice ? 'offline' : 'degraded';
    this.#speak(isLost ? 'lost' : this.element.textContent === shared.degraded ? 'degraded' : this.notice);
  };

  /** Announces each state once, even if its text changes with the time. */
  #speak = (what) => {
    if (what === this.#announced) return;
    const isOver = ['lost', 'degraded'].includes(this.#announced) && this.#connection.state === 'open';
    this.#announced = what;
    if (what) this.say(this.element.textContent);
    else if (isOver) this.say(shared.connected);
  };

  #sentence = () => {
    const {close, state} = this.#connection;
    const isOffline = navigator.onLine === false;
    const why = close?.code === FULL ? 'full' : state === 'open' ? 'silent' : isOffline ? 'offline' : 'lost';
    if (!this.hasState()) return this.words[why];
    return this.words[`${why}Since`](timeText(this.knownAt() ?? this.lastMessageAt() ?? this.#lostAt, Date.now(), locale));
  };
}

/** Minimum ms between two attempts that are caused by touches. */
export const TOUCH_PAUSE = 3_000;

/**
 * Reconnects as soon as somebody touches a page without a connection, because the next regular attempt may be many seconds
 * away. At the session limit an earlier attempt would be refused too.
 */
export function reconnectOnTouch(enroute, now = () => performance.now()) {
  let triedAt = -Infinity;
  addEventListener('pointerdown', () => {
    const {state, close} = enroute.connection;
    if (state !== 'waiting' || close?.code === FULL || now() - triedAt < TOUCH_PAUSE) return;
    triedAt = now();
    enroute.wake();
  }, {passive: true});
}

const stillness = matchMedia('(prefers-reduced-motion: reduce)');

/** Whether the system asks for reduced motion. */
export const wantsStillness = () => stillness.matches;

/** Calls the listener when the theme changes, because canvases must be drawn again. */
export function onThemeChange(listener) {
  for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)']) {
    matchMedia(query).addEventListener('change', listener);
  }
}

/** A color of the style sheet in the current theme: `colour('--accent')`. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Registers worker.js, which caches the page and the last state, but never positions, for offline use. */
export function keepForLater() {
  navigator.serviceWorker?.register(`${gateway}/worker.js`).catch(() => { /* the page works without it */ });
}
