// Signing in: with a one-time code at the end of the address (`#in.<code>`), with a typed code, on the operator's page
// (ENROUTE_PAGES_SIGN_IN_URL), or not at all with a tracking link. A code is removed from the address bar before it is used.
// The token lives only in the tab's sessionStorage, or in the page if the browser denies storage (page-storage.js), never in
// an address or a cookie.

import {decoded, gateway} from './page-gateway.js';
import {tabStorage} from './page-storage.js';
import {make, put, shared} from './page.js';

const KEPT_AS = 'enroute.token';
const GIVE_UP = 15_000;      // ms to wait for the response to a code
const CODE = /(?:^|#in\.)([0-9a-f]{32})$/i;

/** Why a code was rejected, by HTTP status. Other statuses mean that the server is unreachable. */
const REASONS = {
  400: shared.signInRefused, 404: shared.signInRefused, 422: shared.signInRefused, 429: shared.signInLimited,
};

/** The fragment of the address. A person may have typed anything there. */
const fragment = () => decoded(location.hash.slice(1));

/** Deletes the cached states of jobs, because another person may use the browser next. */
function forgetStates() {
  navigator.serviceWorker?.controller?.postMessage({type: 'forget'});
}

/** Redeems a code. @returns `{status, session}`; status 0 means no response */
async function redeemed(code) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), GIVE_UP);
  try {
    const answer = await fetch(`${gateway}/api/v1/sign-ins/redeem`, {
      method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({code: code.toLowerCase()}),
      signal: abort.signal,
    });
    const session = answer.ok ? await answer.json() : null;
    return {status: answer.status, session};
  } catch {
    return {status: 0, session: null};
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The credential of the page. A page awaits `credential()` before it starts; while nobody is signed in, that shows the panel
 * and leaves the rest of the page as it is. `Enroute` uses `current`, which never waits. When the gateway closes with 4005 or
 * 4500, the page calls `forget(reason)`, awaits `credential()` and starts again.
 */
export class SignIn {
  #link = null;
  #waiting = [];
  #reason = '';
  #code;

  /**
   * @param panel the empty, hidden section for the form.
   * @param takesLinks whether the fragment of the address may be a tracking link.
   * @param why the heading of the panel: what signing in is for.
   * @param heading its element: `h1` if the page shows no other one meanwhile.
   * @param explain shows and announces why somebody was signed out where they see it after scrolling: `explain` of the
   *     ConnectionBanner. An empty text ends that.
   */
  constructor({panel, takesLinks = false, why = shared.signInWhy, heading = 'h1', explain = () => {}}) {
    Object.assign(this, {panel, why, heading, explain});
    const behind = fragment();
    if (behind.startsWith('in.')) {
      history.replaceState(history.state, '', location.pathname + location.search);
      this.#code = this.redeem(behind.slice(3));
    } else if (takesLinks && behind) {
      this.#link = behind;
    }
    // Another link in the same tab is another page, but the browser would not load it.
    addEventListener('hashchange', () => {
      if (takesLinks || fragment().startsWith('in.')) location.reload();
    });
  }

  /**
   * The session from the server: `{token, role, person}`; null if signed out. Only the gateway reports that it has expired,
   * because the local clock may be wrong, and may be corrected at any time.
   */
  get session() {
    try {
      const kept = JSON.parse(tabStorage().getItem(KEPT_AS));
      return kept?.token ? kept : null;
    } catch {
      return null;
    }
  }

  /** The value for `Authorization`, or null. */
  get header() {
    if (this.#link) return `Link ${this.#link}`;
    return this.session ? `Bearer ${this.session.token}` : null;
  }

  get isGuest() { return this.#link !== null; }

  /** `{link}` or `{token}`; null without either. */
  get current() {
    if (this.#link) return {link: this.#link};
    const {session} = this;
    return session && {token: session.token};
  }

  async credential() {
    await this.#code;
    const {current} = this;
    if (current) return current;
    if (!this.panel.hasChildNodes()) this.#build();
    // `explain` has announced it.
    this.problem.removeAttribute('role');
    put(this.problem, this.#reason);
    this.panel.hidden = false;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Discards the token.
   * @param reason explained at once, and shown when the panel opens next
   * @param isExpired whether the same person will sign in again; otherwise the cached states are deleted too
   */
  forget(reason = '', {isExpired = false} = {}) {
    tabStorage().removeItem(KEPT_AS);
    this.#reason = reason;
    if (!isExpired) forgetStates();
    if (reason) this.explain(reason);
  }

  /** Redeems a code. @returns whether somebody is signed in now; otherwise the panel says why not */
  async redeem(code) {
    const {status, session} = await redeemed(code);
    if (!session?.token) {
      this.#reason = REASONS[status] ?? shared.signInUnreachable;
      return false;
    }
    const before = this.session;
    if (before && before.person !== session.person) forgetStates();
    tabStorage().setItem(KEPT_AS, JSON.stringify(session));
    this.#reason = '';
    this.explain('');
    this.panel.hidden = true;
    for (const resolve of this.#waiting.splice(0)) resolve({token: session.token});
    return true;
  }

  #build = () => {
    const page = document.querySelector('meta[name="enroute-sign-in"]')?.content;
    const input = make('input', {
      id: 'signin-code', name: 'code', autocomplete: 'one-time-code', autocapitalize: 'none', spellcheck: 'false',
      required: true, 'aria-describedby': 'signin-hint signin-problem',
    });
    this.problem = make('p', {id: 'signin-problem', class: 'problem', hidden: true});
    const form = make('form', {novalidate: true},
      make('label', {for: 'signin-code'}, shared.signInCode), input,
      make('p', {id: 'signin-hint', class: 'quiet'}, shared.signInHint), this.problem,
      make('button', {type: 'submit', class: page ? '' : 'primary'}, shared.signInSend));
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const code = CODE.exec(input.value.trim())?.[1];
      const isIn = code ? await this.redeem(code) : (this.#reason = shared.signInMalformed, false);
      this.problem.setAttribute('role', 'alert');
      put(this.problem, isIn ? '' : this.#reason);
      input.setAttribute('aria-invalid', String(!isIn));
      if (isIn) input.value = '';
      else input.focus();
    });
    this.panel.setAttribute('aria-labelledby', 'signin-title');
    this.panel.append(make(this.heading, {id: 'signin-title'}, this.why));
    if (page) {
      const back = encodeURIComponent(location.origin + location.pathname + location.search);
      const address = `${page}${page.includes('?') ? '&' : '?'}return=${back}`;
      this.panel.append(
        make('a', {class: 'button primary', href: address}, shared.signInButton),
        make('p', {class: 'or'}, shared.signInOr));
    }
    this.panel.append(form);
  };
}
