// The connection to a gateway: connects, signs in, detects a dead connection and reconnects. It passes on all messages and
// interprets only those about the connection itself: welcome, pong, degraded, restored and goaway. enroute-timing.js decides
// when to do what.

import {
  CONNECT_WITHIN, CREDENTIAL_LATE, GOAWAY_GRACE, MOST_WAITING, MessageBudget, OFFLINE_DOUBTED_AFTER, PING_AFTER_EXPECTED,
  PONG_WITHIN, RENEWAL_RETRY, STABLE_AFTER, closeMeaning, heartbeat, reconnectDelay, renewalDelay, tokenExpiry,
} from './enroute-timing.js';

const OPEN = 1;
/** An answer sets the clock only if it is at most this many ms slower than the fastest one. */
const SLOWER = 200;
/** If the local clock jumps by more than this many ms, the gateway's clock is queried again. */
const JUMP = 2_000;
/** How many bytes may be buffered in the socket before the connection counts as congested. */
const CONGESTED_FROM = 16_384;

export class GatewayConnection {
  #options; #onMessage; #onChange; #expectsMessages;
  #state = 'stopped'; #degraded = false; #isSilent = false; #close; #retryAt;
  #socket = null; #attempt = 0; #failures = 0; #isRenewed = false; #timers = {};
  #credential = null; #notBefore = null; #openedAt = null;
  #beat = {receivedAt: 0, pingedAt: null, isProbing: false}; #asked; #roundTrip = Infinity; #skew;
  #offlineSince = null; #isBackOnline = false;
  #waiting = []; #budget = null; #watches = [];

  /** The gateway's clock minus the local wall clock, in ms, measured with the fastest answers of this connection. */
  clockOffset = 0;
  /** When the last message was received, by the local wall clock: the monotonic clock may stop while a phone sleeps. */
  lastMessageAt = null;

  /**
   * @param {object} options the options of `Enroute`, with all defaults
   * @param {(message: object) => void} onMessage called with each message
   * @param {() => void} onChange called when the state of the connection changed
   * @param {() => boolean} expectsMessages whether the gateway should send something every few seconds
   */
  constructor(options, onMessage, onChange, expectsMessages = () => false) {
    this.#options = options;
    this.#onMessage = onMessage;
    this.#onChange = onChange;
    this.#expectsMessages = expectsMessages;
  }

  get connection() {
    const isDoubted = this.#state === 'open' && this.#offlineSince !== null;
    return Object.freeze({
      state: isDoubted ? 'waiting' : this.#state, degraded: this.#degraded,
      ...(this.#isSilent && {silent: true}),
      ...(this.#retryAt !== undefined && {retryAt: this.#retryAt}), ...(this.#close && {close: this.#close}),
    });
  }

  /** Whether messages can be sent. */
  get isOpen() { return this.#state === 'open'; }

  get credential() { return JSON.parse(this.#credential); }

  /** The gateway accepted another credential for this connection. */
  renewed(credential) { this.#credential = JSON.stringify(credential); }

  /** Whether earlier messages are still buffered. */
  get isCongested() { return this.#waiting.length > 0 || (this.#socket?.bufferedAmount ?? 0) > CONGESTED_FROM; }

  start() {
    if (!['stopped', 'refused'].includes(this.#state)) return;
    this.#failures = 0;
    this.#close = undefined;
    this.#watchSystem();
    this.#connect();
  }

  stop() {
    if (this.#state === 'stopped') return;
    this.#detach(1000);
    this.#settle('stopped');
  }

  /** Whether too many messages wait for further requests. Subscriptions are limited by the number of followed jobs. */
  get isFull() { return this.#waiting.length >= MOST_WAITING; }

  /** Sends a message, later if the rate requires it. @returns {boolean} whether it was accepted; not before the welcome */
  send(message) {
    if (!this.isOpen) return false;
    this.#waiting.push(message);
    this.#drain();
    return true;
  }

  /** Sends a message in place of an equal one that still waits. */
  sendOnce(message) {
    this.withdraw(message);
    this.send(message);
  }

  /** Withdraws messages of this type about a job or a zone that still wait. @returns {boolean} whether there were any */
  withdraw({type, job, zone}) {
    const {length} = this.#waiting;
    this.#waiting = this.#waiting.filter((other) => other.type !== type || other.job !== job || other.zone !== zone);
    return this.#waiting.length < length;
  }

  /** Reconnects immediately, or checks an open connection with a ping, because the network or the page is back. */
  wake() {
    if (this.#state === 'waiting') {
      this.#failures = 0;
      this.#connect();
    } else if (this.isOpen) {
      this.#beat = {...this.#beat, pingedAt: null, isProbing: true};
      this.#check();
    }
  }

  // ---- connecting ----

  async #connect() {
    const attempt = ++this.#attempt;
    this.#clear('planned');
    this.#retryAt = undefined;
    this.#become('connecting');
    let credential;
    this.#plan('connect', CONNECT_WITHIN, () => {
      this.#lose(1006, credential === undefined ? CREDENTIAL_LATE : 'the gateway did not answer in time');
    });
    try {
      credential = await this.#options.credential();
    } catch (error) {
      // The server that issues tokens may be temporarily unavailable, like a gateway.
      if (attempt === this.#attempt) this.#lose(1006, `no credential is available: ${error?.message ?? error}`);
      return;
    }
    if (attempt !== this.#attempt) return;
    if (!credential) return this.#refuse(4500, 'no credential is available');
    if (this.#close?.code === 4005 && JSON.stringify(credential) === this.#credential) {
      return this.#refuse(4005, this.#close.reason);
    }
    this.#credential = JSON.stringify(credential);
    this.#open(attempt, credential);
  }

  #open(attempt, credential) {
    const isCurrent = () => attempt === this.#attempt;
    let socket;
    try {
      socket = new this.#options.WebSocket(this.#options.url, 'enroute.v1');
    } catch (error) {
      return this.#lose(1006, error.message);
    }
    this.#socket = socket;
    socket.onopen = () => { if (isCurrent()) this.#ask({type: 'auth', ...credential}); };
    socket.onmessage = ({data}) => { if (isCurrent()) this.#received(data); };
    let cause = '';
    socket.onclose = ({code, reason}) => { if (isCurrent()) this.#closed(code, reason || cause); };
    // A close event follows. Browsers do not reveal the cause.
    socket.onerror = ({message = ''}) => { cause = message; };
  }

  #received(data) {
    let message;
    try { message = JSON.parse(data); } catch { return; }
    this.#beat = {receivedAt: this.#options.now(), pingedAt: null, isProbing: false};
    this.lastMessageAt = this.#options.wall();
    // A frozen gateway sends nothing and its socket stays open. Any message shows that it is alive.
    this.#clear('answer');
    if (this.#isSilent) {
      this.#isSilent = false;
      this.#onChange();
    }
    switch (message.type) {
      case 'welcome': this.#welcomed(message); break;
      case 'pong': this.#setClock(message.serverTime); break;
      case 'degraded': this.#degraded = true; break;
      case 'restored': this.#degraded = false; break;
      case 'goaway':
        this.#notBefore = this.#options.now() + message.retryInMs;
        this.#plan('goodbye', message.retryInMs + GOAWAY_GRACE, () => this.#closed(4000, 'going away'));
        break;
    }
    this.#trustMessages();
    this.#onMessage(message);
    // Only after the listeners have handled the message, so that they find a consistent state.
    if (['welcome', 'degraded', 'restored'].includes(message.type)) this.#onChange();
  }

  #welcomed(message) {
    this.#clear('connect');
    this.#roundTrip = Infinity;
    this.#setClock(message.serverTime);
    this.#openedAt = this.#options.now();
    this.#budget = new MessageBudget(this.#openedAt, message.limits);
    this.#degraded = false;
    this.#offlineSince = null;
    this.#close = undefined;
    this.#state = 'open';
    this.#check();
  }

  /** Sends a message whose answer contains the gateway's time. `skew` shows later whether the local clock was corrected. */
  #ask(message) {
    const wall = this.#options.wall();
    this.#asked = {wall, skew: wall - this.#options.now()};
    this.#socket.send(JSON.stringify(message));
  }

  #setClock(serverTime) {
    const {wall, skew} = this.#asked ?? {};
    const roundTrip = this.#options.wall() - wall;
    // The newest of the fast answers is used, because the local clock may be corrected while the connection is open.
    if (roundTrip >= 0 && roundTrip <= this.#roundTrip + SLOWER) {
      this.#roundTrip = Math.min(roundTrip, this.#roundTrip);
      this.clockOffset = serverTime - wall - roundTrip / 2;
      this.#skew = skew;
    }
    this.#asked = null;
  }

  // ---- keeping the connection alive ----

  #check() {
    if (!this.isOpen) return;
    const now = this.#options.now();
    const {what, lookIn} = heartbeat({...this.#beat, expectsMessages: this.#expectsMessages()}, now);
    if (what === 'give up') return this.#lose(1006, 'the gateway did not answer a ping');
    // The local clock was corrected: only a pong says by how much, and messages that keep arriving would delay the next ping.
    const isCorrected = !this.#beat.pingedAt && Math.abs(this.#options.wall() - now - this.#skew) > JUMP;
    if (isCorrected) this.#roundTrip = Infinity;
    if (what === 'ping' || isCorrected) {
      this.#beat.pingedAt = now;
      this.#ask({type: 'ping'});
      this.#plan('answer', PONG_WITHIN, () => {
        this.#isSilent = true;
        this.#onChange();
      });
    }
    // Check again soon, because `expectsMessages` may change in the meantime.
    this.#plan('look', Math.min(lookIn, PING_AFTER_EXPECTED), () => this.#check());
  }

  #drain() {
    while (this.#waiting.length > 0 && this.#socket?.readyState === OPEN) {
      const wait = this.#budget.take(this.#options.now());
      if (wait > 0) {
        if (!this.#timers.drain) this.#plan('drain', wait, () => this.#drain());
        return;
      }
      this.#socket.send(JSON.stringify(this.#waiting.shift()));
    }
  }

  /** The device reports that it is offline, but messages that keep arriving prove otherwise. */
  #trustMessages() {
    if (this.#offlineSince === null) return;
    if (this.#isBackOnline || this.#options.now() - this.#offlineSince > OFFLINE_DOUBTED_AFTER) {
      this.#offlineSince = null;
      this.#onChange();
    }
  }

  #watchSystem() {
    const watch = (target, type, action) => {
      if (!target?.addEventListener) return;
      target.addEventListener(type, action);
      this.#watches.push(() => target.removeEventListener(type, action));
    };
    watch(globalThis, 'online', () => {
      this.#isBackOnline = true;
      this.wake();
    });
    watch(globalThis, 'offline', () => {
      this.#isBackOnline = false;
      this.#offlineSince = this.#options.now();
      this.#onChange();
    });
    watch(globalThis, 'pageshow', (event) => { if (event.persisted) this.wake(); });
    watch(globalThis.document, 'visibilitychange', () => { if (!globalThis.document.hidden) this.wake(); });
  }

  // ---- losing the connection ----

  /** Gives up a socket that may never report its end. */
  #lose(code, reason) {
    this.#detach(4000);
    this.#reconnect(code, reason);
  }

  #closed(code, reason) {
    this.#detach(1000);
    if (closeMeaning(code).reconnects) this.#reconnect(code, reason);
    else this.#refuse(code, reason);
  }

  #reconnect(code, reason) {
    const now = this.#options.now();
    // Resets the back-off only after a stable session, so that a gateway that closes right after its welcome is not flooded.
    if (this.#openedAt !== null && now - this.#openedAt >= STABLE_AFTER) {
      this.#failures = 0;
      this.#isRenewed = false;
    }
    this.#openedAt = null;
    this.#close = Object.freeze({code, reason});
    // The token expired: a newer one may be available immediately. If that one has expired too, the usual back-off applies.
    const isRenewal = code === 4005 && !this.#isRenewed;
    this.#isRenewed = code === 4005;
    const {retryInMs} = closeMeaning(code);
    const notBefore = retryInMs === null ? this.#notBefore : now + retryInMs;
    const delay = isRenewal ? 0 : reconnectDelay(this.#failures, notBefore, now, this.#options.random);
    this.#failures += 1;
    this.#notBefore = null;
    this.#retryAt = this.#options.wall() + delay;
    this.#plan('planned', delay, () => this.#connect());
    this.#become('waiting');
  }

  #refuse(code, reason) {
    this.#detach(1000);
    this.#close = Object.freeze({code, reason});
    this.#settle('refused');
  }

  #settle(state) {
    for (const unwatch of this.#watches) unwatch();
    this.#watches = [];
    this.#retryAt = undefined;
    this.#offlineSince = null;
    this.#become(state);
  }

  /** Detaches and closes the socket. Its later events are ignored. */
  #detach(code) {
    this.#attempt += 1;
    this.#isSilent = false;
    Object.keys(this.#timers).forEach((name) => this.#clear(name));
    this.#waiting = [];
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    // A socket that is closed while connecting still emits an error event, so `onerror` stays.
    socket.onopen = socket.onmessage = socket.onclose = null;
    try { socket.close(code); } catch { socket.close(); }
  }

  #become(state) {
    if (state === this.#state && state === 'connecting') return;
    this.#state = state;
    this.#onChange();
  }

  #plan(name, delay, action) {
    this.#clear(name);
    this.#timers[name] = this.#options.timers.setTimeout(() => {
      delete this.#timers[name];
      action();
    }, delay);
  }

  #clear(name) {
    if (this.#timers[name] === undefined) return;
    this.#options.timers.clearTimeout(this.#timers[name]);
    delete this.#timers[name];
  }
}

/** Renews a session before its token expires, if the app has a newer one. A link's session does not expire this way. */
export class TokenRenewal {
  #options; #gateway; #refresh; #timer;

  constructor(options, gateway, refresh) {
    this.#options = options;
    this.#gateway = gateway;
    this.#refresh = refresh;
  }

  /** @param {number} serverTime ms since the epoch */
  plan(serverTime) { this.#plan(renewalDelay(tokenExpiry(this.#gateway.credential.token), serverTime)); }

  cancel() {
    this.#options.timers.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #plan(delay) {
    this.cancel();
    if (delay !== null) this.#timer = this.#options.timers.setTimeout(() => this.#renew(), delay);
  }

  async #renew() {
    // The next attempt, unless this one succeeds: the app's function may fail or never return.
    this.#plan(RENEWAL_RETRY);
    const timer = this.#timer;
    try {
      const token = (await this.#options.credential())?.token;
      // Another connection, or a renewal by the app, has its own timer.
      const isCurrent = this.#gateway.isOpen && this.#timer === timer;
      if (isCurrent && token && token !== this.#gateway.credential.token) await this.#refresh(token);
    } catch {
      // The session continues with its token.
    }
  }
}
