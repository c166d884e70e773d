// Time, chance and a socket that a test holds in its hand: nothing happens until it says so.

/** A clock with timers, which stands still unless `pass` moves it. */
export class Clock {
  #now = 1_000_000; #timers = []; #next = 1;
  /** ms that the wall clock is ahead of the other. */
  epoch = 1_795_000_000_000;
  /** What chance says, 0 to 1. */
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

  /** Lets so many ms pass, and what is due happen, one after the other. */
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

  /** Timers that wait. */
  get waiting() { return this.#timers.length; }
}

/** Whatever was promised has been kept. */
export const settled = () => new Promise((resolve) => { setImmediate(resolve); });

/** A class of sockets whose peer is the test. */
export function playedSockets() {
  return class PlayedSocket {
    static all = [];
    static get last() { return this.all.at(-1); }

    readyState = 0;
    said = [];
    bufferedAmount = 0;
    closedWith = null;

    constructor(url, protocol) {
      Object.assign(this, {url, protocol});
      this.constructor.all.push(this);
    }

    send(text) {
      if (this.readyState !== 1) throw new Error('said to a socket that is not open');
      this.said.push(JSON.parse(text));
    }

    close(code) { this.closedWith = code; this.readyState = 3; }

    // What the peer does.
    opens() { this.readyState = 1; this.onopen?.(); }
    says(...messages) { for (const message of messages) this.onmessage?.({data: JSON.stringify(message)}); }
    welcomes(serverTime = 0) {
      this.opens();
      this.says({type: 'welcome', session: 's', serverTime, pingIntervalSeconds: 25, limits: {}});
    }
    closes(code, reason = '') { this.readyState = 3; this.onclose?.({code, reason}); }
    /** What was said since it was asked for the last time. */
    heard() { return this.said.splice(0); }
  };
}

/** The same numbers for the same seed (mulberry32). */
export function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6D2B79F5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
