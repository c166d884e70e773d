// The subpath `@enroute/client/element`: the web component `<enroute-job>`, a job's status, arrival time and tracking state as
// text. Importing it registers nothing and needs no document, so it can be imported on a server, and bundlers may leave it
// out. element-text.js decides what to show; this file connects, and writes the texts to the document.

import {LINK, elementTexts} from './element-text.js';
import {Enroute} from './enroute.js';
import {unknownView} from './enroute-view.js';
import {readersLocale} from './enroute-words.js';

/** ms between two renderings, so that ages and arrival times stay current. */
const EVERY = 1_000;
/** ms until translations that could not be loaded are requested again. */
const ASK_TEXTS_AGAIN = 30_000;

const PARTS = ['status', 'tracking', 'arrival', 'updated', 'note'];
/** Properties that an app may set before the element is defined. */
const PROPERTIES = ['client', 'credential'];

const STYLE = ':host { display: block } :host([hidden]) { display: none } p { margin: 0 } '
  + '[part=status] { font-size: 1.25em; font-weight: bold }';

/** `HTMLElement`, where there are documents. */
const Base = globalThis.HTMLElement ?? class {};

export class EnrouteJob extends Base {
  static observedAttributes = ['gateway', 'job', 'token', 'link', 'lang'];

  #client = null; #credential = null;
  #running = null; #parts = null; #texts = null; #lostSince = null; #isPlanned = false;

  /** A client of the app, instead of a connection for this element alone. The app starts and stops it. */
  get client() { return this.#client; }
  set client(client) { this.#client = client; this.#plan(); }

  /** Returns a credential, instead of the attributes `token` and `link`; called for each connection and request. */
  get credential() { return this.#credential; }
  set credential(credential) { this.#credential = credential; this.#plan(); }

  /** What is known of the job. */
  get view() { return this.#running?.follow.view ?? unknownView(this.#setting.job ?? ''); }

  connectedCallback() {
    for (const name of PROPERTIES.filter((name) => Object.hasOwn(this, name))) {
      const value = this[name];
      delete this[name];
      this[name] = value;
    }
    this.#plan();
  }

  // An element that is only moved within the document stays connected.
  disconnectedCallback() { this.#plan(); }

  attributeChangedCallback(name, before, after) { if (before !== after) this.#plan(); }

  // ---- connecting ----

  /** The settings in the attributes. The address of a tracking link contains all of them. */
  get #setting() {
    const link = this.getAttribute('link');
    const [, gateway, job, secret] = LINK.exec(link ?? '') ?? [];
    return {
      gateway: (this.getAttribute('gateway') ?? gateway ?? '').replace(/\/+$/, ''), job: this.getAttribute('job') ?? job,
      token: this.getAttribute('token'), link: secret ?? link,
    };
  }

  /** Several changes in a row count as one. */
  #plan() {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    queueMicrotask(() => {
      this.#isPlanned = false;
      this.#update();
    });
  }

  #update() {
    const {gateway, job, token, link} = this.#setting;
    const isLink = link !== null && token === null;
    const key = JSON.stringify([gateway, job, isLink ? link : null]);
    const running = this.#running;
    const isSame = running?.key === key && running.given === this.#client && running.credential === this.#credential;
    if (!this.isConnected || !job || !isSame) this.#stop();
    if (!this.isConnected || !job) return;
    if (this.#running && running.token !== token) this.#renew(token);
    if (!this.#running && !this.#start(key, {gateway, job, isLink})) return;
    this.#running.token = token;
    this.#loadTexts();
    this.#render();
  }

  #start(key, {gateway, job, isLink}) {
    const credential = () => {
      const {token, link} = this.#setting;
      return token !== null ? {token} : link !== null ? {link} : null;
    };
    let enroute;
    try {
      enroute = this.#client
        ?? new Enroute({url: `${gateway}/v1`, rest: `${gateway}/api/v1`, credential: this.#credential ?? credential});
    } catch (error) {
      console.error(`<enroute-job gateway="${gateway}">: ${error.message}`);
      return false;
    }
    const changed = () => {
      this.#render();
      this.dispatchEvent(new CustomEvent('enroute-change', {
        bubbles: true, composed: true, detail: {view: this.view, connection: enroute.connection},
      }));
    };
    this.#running = {
      key, enroute, isLink, given: this.#client, credential: this.#credential,
      follow: enroute.follow(job, changed), unwatch: enroute.on('connection', changed),
      timer: setInterval(() => this.#render(), EVERY),
    };
    if (!this.#client) enroute.start();
    return true;
  }

  /** A newer token of the same person keeps the connection open. */
  async #renew(token) {
    const {enroute, given} = this.#running;
    if (given || this.#credential || token === null) return;
    enroute.start();
    if (enroute.connection.state !== 'open') return;
    try {
      await enroute.refresh(token);
    } catch {
      enroute.stop();
      if (this.#running?.enroute === enroute) enroute.start();
    }
  }

  #stop() {
    const running = this.#running;
    this.#running = null;
    if (!running) return;
    clearInterval(running.timer);
    running.unwatch();
    running.follow.stop();
    if (!running.given) running.enroute.stop();
    this.#lostSince = null;
    // Nothing stays visible of a job that is not followed.
    for (const name of this.#parts ? PARTS : []) this.#parts[name].textContent = '';
  }

  // ---- texts ----

  get #language() {
    const own = this.closest('[lang]')?.lang;
    return own || navigator.language || 'en';
  }

  async #loadTexts() {
    const [running, language] = [this.#running, this.#language];
    if (running.language === language) return;
    running.language = language;
    try {
      const {body} = await running.enroute.rest('GET', `/texts?language=${encodeURIComponent(language.split('-')[0])}`);
      if (this.#running !== running || running.language !== language) return;
      this.#texts = body;
      this.#render();
    } catch {
      setTimeout(() => {
        if (this.#running !== running || running.language !== language) return;
        running.language = null;
        this.#loadTexts();
      }, ASK_TEXTS_AGAIN);
    }
  }

  // ---- showing ----

  #render() {
    const running = this.#running;
    if (!running) return;
    this.#parts ??= this.#build();
    const {connection} = running.enroute;
    const now = performance.now();
    this.#lostSince = connection.state === 'open' ? null : this.#lostSince ?? now;
    // Sentences and names must be in one language: a gateway without the reader's language responds in another.
    const language = this.#texts?.language ?? this.#language;
    const locale = readersLocale(language, [...navigator.languages ?? [], this.#language]);
    const texts = elementTexts(running.follow.view, {
      connection, lostFor: this.#lostSince === null ? 0 : now - this.#lostSince, now, wall: Date.now(),
      heardAt: running.enroute.lastMessageAt, locale, isLink: running.isLink,
    }, this.#texts);
    if (this.#parts.all.lang !== locale) this.#parts.all.lang = locale;
    for (const name of PARTS) {
      const part = this.#parts[name];
      if (part.textContent !== texts[name]) part.textContent = texts[name];
      if (part.hidden !== (texts[name] === '')) part.hidden = texts[name] === '';
    }
  }

  /** Screen readers announce the status, the tracking state and the connection, but not each minute of the arrival time. */
  #build() {
    const root = this.attachShadow({mode: 'open'});
    // A content policy without inline styles permits these.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    const add = (parent, tag, set = {}) => {
      const made = document.createElement(tag);
      for (const [name, value] of Object.entries(set)) made.setAttribute(name, value);
      return parent.appendChild(made);
    };
    const all = add(root, 'div');
    const spoken = add(all, 'div', {role: 'status'});
    const parts = {all, status: add(spoken, 'p', {part: 'status'}), tracking: add(spoken, 'p', {part: 'tracking'})};
    for (const name of ['arrival', 'updated']) parts[name] = add(all, 'p', {part: name});
    parts.note = add(add(all, 'div', {role: 'status'}), 'p', {part: 'note'});
    return parts;
  }
}

/**
 * Registers the element. Calling it again changes nothing.
 *
 * @param {string} name
 */
export function defineEnrouteJob(name = 'enroute-job') {
  if (!globalThis.customElements) return EnrouteJob;
  if (!customElements.get(name)) customElements.define(name, EnrouteJob);
  return EnrouteJob;
}
