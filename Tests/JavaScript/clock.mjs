// A clock, a random source and a socket that a test controls: nothing happens until the test says so.

/** A clock with timers. It stands still until `pass` moves it. */
export class Clock {
  #now = 1_000_000; #timers = []; #next = 1;
  /** How far the wall clock is ahead of the monotonic clock, in ms. */
  epoch = 1_795_000_000_000;
  /** What the random source returns, 0 to 1. */
  chance = 0.5;

  now = () => this.#now;
  wall = () => this.epoch + this.#now;
  random = () => this.chance;
  timers = {
    setTimeout: (action, delay) => {
      const timer = this.#next++;
      this.#timers.push({timer, at: this.#now + delay, action});
      return timer;
    },
    clearTimeout: (timer) => { this.#timers = this.#timers.filter((other) => other.timer !== timer); },
  };

  /** Lets ms pass and runs the timers that are due, in order. */
  async pass(ms) {
    const end = this.#now + ms;
    for (;;) {
      await settled();
      const [first] = this.#timers.filter(({at}) => at <= end).sort((a, b) => a.at - b.at || a.timer - b.timer);
      if (!first) break;
      this.#timers = this.#timers.filter((other) => other !== first);
      this.#now = Math.max(this.#now, first.at);
      first.action();
    }
    this.#now = end;
    await settled();
  }

  /** Number of pending timers. */
  get waiting() { return this.#timers.length; }
}

/** Waits until all resolved promises have run their callbacks. */
export const settled = () => new Promise((resolve) => { setImmediate(resolve); });

/** Returns a class of sockets whose peer is the test. */
export function playedSockets() {
  return class PlayedSocket {
    static all = [];
    static get last() { return this.all.at(-1); }

    readyState = 0;
    /** Received messages without their `ref`. */
    said = [];
    #asked = [];
    bufferedAmount = 0;
    closedWith = null;

    constructor(url, protocol) {
      Object.assign(this, {url, protocol});
      this.constructor.all.push(this);
    }

    send(text) {
      if (this.readyState !== 1) throw new Error('said to a socket that is not open');
      const {ref, ...message} = JSON.parse(text);
      if (ref) this.#asked.push({...message, ref});
      this.said.push(message);
    }

    close(code) { this.closedWith = code; this.readyState = 3; }

    // Actions of the peer.
    opens() { this.readyState = 1; this.onopen?.(); }
    says(...messages) {
      for (const message of messages) this.onmessage?.({data: JSON.stringify({...message, ...this.#refOf(message)})});
    }
    /** The `ref` of the request that this message answers: the oldest one, unless the test names another. */
    #refOf({replyTo, job, ref}) {
      // A message that could not be read is dropped without its `ref`.
      if (replyTo === '') this.#asked.pop();
      const request = this.#asked.find((other) => ref ? other.ref === ref : other.type === replyTo && other.job === job);
      this.#asked = this.#asked.filter((other) => other !== request);
      return request && {ref: request.ref};
    }
    welcomes(serverTime = 0) {
      this.opens();
      this.says({type: 'welcome', session: 's', serverTime, pingIntervalSeconds: 25, limits: {}});
    }
    closes(code, reason = '') { this.readyState = 3; this.onclose?.({code, reason}); }
    /** The messages received since the last call. */
    heard() { return this.said.splice(0); }
  };
}

/** Returns a random source with a seed (mulberry32), so that runs can be repeated. */
export function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6D2B79F5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
