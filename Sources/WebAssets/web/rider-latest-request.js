// A request that runs once at a time for data that may change meanwhile. A response from before a change is discarded, and the
// request is repeated.

export class LatestRequest {
  #turn = 0;
  #asking = null;

  /** @param {() => Promise<Answer>} ask never throws. @param {(answer: Answer) => void} take receives the newest response */
  constructor(ask, take) {
    Object.assign(this, {ask, take});
  }

  /** Marks the data as changed, so that a pending response is out of date. */
  changed() { this.#turn += 1; }

  /** @returns {Promise<void>} resolves after an up-to-date response was received */
  now() {
    this.#asking ??= this.#ask().finally(() => { this.#asking = null; });
    return this.#asking;
  }

  #ask = async () => {
    for (;;) {
      const turn = this.#turn;
      const answer = await this.ask();
      if (turn === this.#turn) return this.take(answer);
    }
  };
}
