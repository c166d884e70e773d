// The places of the zone over one WebSocket: the gateway sends all of them once, and then those that have changed, each at
// most once a second. enroute-connection.js maintains the connection; this file decides which zone is watched.

import {GatewayConnection} from './enroute-connection.js';
import {gateway} from './page-gateway.js';

/** ms until a refused watch is repeated, unless the gateway names a time. */
const AGAIN = 5_000;
/** ms without a connection after which the places are old. */
const PATIENCE = 5_000;

export class PlacesFeed {
  #gateway;
  #zone = null;
  #timer = null;
  #lostAt = null;

  /**
   * @param signIn whose credential opens the connection.
   * @param take called with each message `places` of the zone
   */
  constructor({signIn, take, WebSocket = globalThis.WebSocket}) {
    this.take = take;
    this.#gateway = new GatewayConnection({
      url: `${gateway.replace(/^http/, 'ws')}/v1`, credential: () => signIn.credential(), WebSocket,
      now: () => performance.now(), wall: () => Date.now(), random: Math.random,
      timers: {setTimeout: (...all) => setTimeout(...all), clearTimeout: (...all) => clearTimeout(...all)},
    }, (message) => this.#received(message), () => {
      this.#lostAt = this.#gateway.isOpen ? null : this.#lostAt ?? performance.now();
    });
  }

  get isOld() { return this.#lostAt !== null && performance.now() - this.#lostAt > PATIENCE; }

  start() {
    this.#lostAt = null;
    this.#gateway.start();
  }

  stop() { this.#gateway.stop(); }

  /** Watches another zone. @param zone null for none */
  watch(zone) {
    if (zone === this.#zone) return;
    if (this.#zone !== null) this.#gateway.send({type: 'unwatch', zone: this.#zone, places: true});
    this.#zone = zone;
    this.#watch();
  }

  #watch = () => {
    clearTimeout(this.#timer);
    if (this.#zone !== null) this.#gateway.send({type: 'watch', zone: this.#zone, places: true});
  };

  #received = (message) => {
    if (message.type === 'welcome') this.#watch();
    if (message.type === 'places' && message.zone === this.#zone) this.take(message);
    if (message.type === 'error' && message.replyTo === 'watch' && message.zone === this.#zone && message.retry) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(this.#watch, message.retryInMs ?? AGAIN);
    }
  };
}
