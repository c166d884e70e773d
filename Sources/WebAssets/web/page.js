// What all pages share: the language they speak, one polite voice for screen readers, the banner that tells of a lost
// connection, and what the system asks of colours and motion. A page's own words stand in a file of its own
// (track-words.js and so on), signing in is page-sign-in.js. Pages call `inLanguage(words)` once, before anything else.
// No private methods here, but private functions: Safari 14.1 knows these alone.

import {clockText, readersLocale} from './enroute-words.js';
import {words as pageWords} from './page-words.js';

/** Languages that every page has words in, by the names they give themselves. */
export const languages = {en: 'English', de: 'Deutsch'};

const primary = (tag) => (tag ?? '').toLowerCase().split('-')[0];
const wished = [new URLSearchParams(location.search).get('lang'), document.documentElement.lang].map(primary);

/** The page's language: the one in its address, or the one that the server chose by `Accept-Language`. */
export const language = wished.find((tag) => Object.keys(languages).includes(tag)) ?? 'en';
document.documentElement.lang = language;

/** For `Intl`: the reader's own kind of the page's language. British clocks and miles are not American ones. */
export const locale = readersLocale(language, navigator.languages);

/** The words that all pages share, in the page's language. */
export const shared = pageWords[language] ?? pageWords.en;

/**
 * The words of a page in its language; those that stand in its HTML are put there: `data-word="key"` names a text,
 * `data-label="key"` an `aria-label`.
 */
export function inLanguage(words) {
  const chosen = {...shared, ...(words[language] ?? words.en)};
  for (const place of document.querySelectorAll('[data-word]')) place.textContent = chosen[place.dataset.word];
  for (const place of document.querySelectorAll('[data-label]')) {
    place.setAttribute('aria-label', chosen[place.dataset.label]);
  }
  return chosen;
}

/** A button that names the other language, in that language, and loads the page in it; what the address holds stays. */
export function languageSwitch(button) {
  const all = Object.keys(languages);
  const other = all[(all.indexOf(language) + 1) % all.length];
  button.textContent = languages[other];
  button.lang = other;
  button.hidden = false;
  button.addEventListener('click', () => {
    const address = new URL(location.href);
    address.searchParams.set('lang', other);
    location.replace(address);
  });
}

/** Makes an element: `make('p', {class: 'quiet', hidden: true}, 'text', child)`; null and false are left out. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children);
  return element;
}

/** Writes a text where it has changed, so that nothing is read or laid out anew; hides the element that has none. */
export function put(element, text) {
  if (element.textContent !== (text ?? '')) element.textContent = text ?? '';
  if (element.hidden !== !text) element.hidden = !text;
}

/** ms in which what was said last may not have been read yet: what is said now goes behind it. */
const TOGETHER = 500;

/**
 * The one polite voice of a page: a `role=status` that is there from the start. It speaks once in `quiet` ms at most;
 * what comes sooner waits, the newest of each topic, and is said together, one sentence after the other. What is urgent
 * is said at once (WCAG 2.1, 4.1.3), and keeps nothing else waiting.
 */
export class Announcer {
  #waiting = new Map();
  #spokenAt = -Infinity;
  #quietSince = -Infinity;    // what waits for its turn was said last
  #timer = null;

  constructor(
    element, {quiet = 30_000, now = () => performance.now(), later = (act, ms) => setTimeout(act, ms)} = {},
  ) {
    Object.assign(this, {element, quiet, now, later});
  }

  /** Says it now, or once the last words are `quiet` ms ago, unless something newer of its topic takes its place. */
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

  /** Takes back what still waits: it is not so any more. */
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
    // The same words once more are news too, and a reader speaks only of what has changed.
    this.element.textContent = said === this.element.textContent ? `${said}\u00a0` : said;
    this.#spokenAt = now;
  };
}

/** The close of a session for which there was no room; it is tried for again. */
const FULL = 4009;

/**
 * Tells that the connection is lost: at once when the system says so, otherwise after `patience` ms without one,
 * because a socket that is exchanged for another is no news. Whether it is lost the connection alone says: a system may
 * be wrong, and messages come all the same. While the gateway hears nothing from its store it says that in its place. A
 * gateway that says nothing at all, though it was asked, is missed like a connection. What it begins to say, and that it
 * is over, is said aloud.
 */
export class ConnectionBanner {
  #lostAt = null;    // ms since the epoch: when it was noticed
  #timer = null;
  #notice = '';
  #told = '';        // what was said aloud last: 'lost', 'degraded' or a notice; '' that all is well
  // Until somebody is signed in there is no connection that could be missed.
  #connection = {state: 'stopped', degraded: false};

  /**
   * @param patience ms
   * @param hasState whether anything is shown that can be old.
   * @param knownAt ms since the epoch, of what was kept from an earlier visit; null for what came over this connection.
   * @param lastMessageAt the same, of what came over it last: a phone that slept notices later that it is lost.
   * @param say says a text aloud, at once.
   * @param words the texts, where a page has its own
   */
  constructor(element, {
    patience = 2_000, hasState = () => true, knownAt = () => null, lastMessageAt = () => null, say = () => {},
    words = shared,
  } = {}) {
    Object.assign(this, {element, patience, hasState, knownAt, lastMessageAt, say, words});
  }

  /** @param connection what `enroute.connection` says now. */
  update(connection) {
    this.#connection = connection;
    if (['connecting', 'open'].includes(connection.state)) this.#notice = '';
    const isMissed = this.#isMissed();
    // Patience begins with the first time that it is missed, however often that is said again.
    if (isMissed) {
      this.#timer ??= setTimeout(() => this.#show(), this.patience);
    } else {
      clearTimeout(this.#timer);
      this.#timer = null;
    }
    // A gateway that was asked and does not answer has been waited for already.
    const isSaid = connection.silent || connection.state === 'waiting' && navigator.onLine === false;
    if (!isMissed || isSaid || this.#lostAt !== null) this.#show();
  }

  /** Says why there is no connection and none is tried for; that stays until one is. */
  explain(text) {
    this.#notice = text;
    this.#show();
  }

  get isLost() { return this.#lostAt !== null; }

  /** Whether a connection is there or being made. */
  #isWanted = () => { return !['refused', 'stopped'].includes(this.#connection.state); };

  #isMissed = () => {
    const {state, silent = false} = this.#connection;
    return this.#isWanted() && (state !== 'open' || silent);
  };

  #show = () => {
    const {degraded} = this.#connection;
    const isLost = this.#isMissed();
    if (!isLost) this.#lostAt = null;
    else this.#lostAt ??= Date.now();
    put(this.element, isLost ? this.#sentence() : degraded && this.#isWanted() ? shared.degraded : this.#notice);
    this.element.dataset.state = isLost || this.#notice ? 'offline' : 'degraded';
    this.#speak(isLost ? 'lost' : this.element.textContent === shared.degraded ? 'degraded' : this.#notice);
  };

  /** Each once, however its words change: of a loss the time in it does. */
  #speak = (what) => {
    if (what === this.#told) return;
    const isOver = ['lost', 'degraded'].includes(this.#told) && this.#connection.state === 'open';
    this.#told = what;
    if (what) this.say(this.element.textContent);
    else if (isOver) this.say(shared.connected);
  };

  #sentence = () => {
    const {close, state} = this.#connection;
    const isOffline = navigator.onLine === false;
    const why = close?.code === FULL ? 'full' : state === 'open' ? 'silent' : isOffline ? 'offline' : 'lost';
    if (!this.hasState()) return this.words[why];
    return this.words[`${why}Since`](clockText(this.knownAt() ?? this.lastMessageAt() ?? this.#lostAt, locale));
  };
}

const stillness = matchMedia('(prefers-reduced-motion: reduce)');

/** Whether the system asks for steps in the place of movement. */
export const wantsStillness = () => stillness.matches;

/** Calls when the colours change: light and dark, forced ones. What is drawn on a canvas has to be drawn again. */
export function onThemeChange(listener) {
  for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)']) {
    matchMedia(query).addEventListener('change', listener);
  }
}

/** A colour of the style sheet, as it is in the theme of the moment: `colour('--accent')`. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Keeps the shell and the last state, never positions, for when there is no network (worker.js). */
export function keepForLater() {
  if (!navigator.serviceWorker || !isSecureContext) return;
  navigator.serviceWorker.register('/worker.js', {scope: '/'}).catch(() => { /* then without */ });
}
