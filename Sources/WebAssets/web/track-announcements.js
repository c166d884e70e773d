// What is worth saying aloud: another state, a location that is no longer up to date or is again, an arrival that moved by
// two minutes or more, and that somebody arrives.
// What was there when the page came is read by the page itself, positions are never spoken, and a countdown is no news.
// How often something is said is the Announcer's business (page.js).

import {sentence} from './enroute-words.js';

/** ms by which an arrival has to move before it is spoken of. */
export const ANNOUNCED_SHIFT = 120_000;

export class Announcements {
  #state = null;
  #arrivesAt = null;
  #isArriving = false;
  #isStale = false;

  /**
   * @param say `(topic, text)`, with unspoken words of a topic replaced by newer ones
   * @param unsay `(topic)`: what is unspoken of it is no longer so
   */
  constructor(say, unsay = () => {}) {
    Object.assign(this, {say, unsay});
  }

  /** Takes what is shown now. @param presentation of track-presentation.js; without texts nothing is called by its name yet */
  update(presentation) {
    if (!presentation.spoken) return;
    if (this.#state !== null && this.#state !== presentation.spoken) this.say('state', presentation.spoken);
    const isFirst = this.#state === null;
    this.#state = presentation.spoken;
    this.#updatePosition(presentation, isFirst);
    this.#updateArrival(presentation, isFirst);
  }

  #updatePosition = ({isMapped, isStale, spokenPosition}, isFirst) => {
    // Without a map the state says why.
    const wasStale = this.#isStale;
    this.#isStale = isMapped && Boolean(isStale);
    if (isMapped && wasStale !== this.#isStale && !isFirst) this.say('position', spokenPosition);
  };

  #updateArrival = ({arrivesAt, isArriving, eta, isMapped}, isFirst) => {
    if (!isMapped) {
      this.unsay('arrival');
      [this.#arrivesAt, this.#isArriving] = [null, false];
      return;
    }
    if (arrivesAt === null) return;
    const hasMoved = this.#arrivesAt === null || Math.abs(arrivesAt - this.#arrivesAt) >= ANNOUNCED_SHIFT;
    const hasCome = isArriving && !this.#isArriving;
    if (hasMoved) this.#arrivesAt = arrivesAt;
    this.#isArriving = isArriving;
    if ((hasMoved || hasCome) && !isFirst) this.say('arrival', sentence(eta));
  };
}
