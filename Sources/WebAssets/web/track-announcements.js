// Decides what a screen reader announces: a new state, a location that became stale or live again, an arrival time that moved
// by two minutes or more, an imminent arrival, and a late one. The initial content is not announced, because the reader reads
// the page anyway. Positions and the countdown are never announced. The Announcer (page.js) decides how often.

import {sentence} from './enroute-words.js';

/** ms by which an arrival time must move before it is announced. */
export const ANNOUNCED_SHIFT = 120_000;

export class Announcements {
  #state = null;
  #arrivesAt = null;
  #isArriving = false;
  #isLate = false;
  #isStale = false;
  #apology = null;

  /**
   * @param say `(topic, text)`: announces a text, replacing an unspoken one of the same topic
   * @param unsay `(topic)`: drops an unspoken text that is no longer true
   */
  constructor(say, unsay = () => {}) {
    Object.assign(this, {say, unsay});
  }

  /** Announces what changed. @param presentation of track-presentation.js; ignored while the texts are not loaded */
  update(presentation) {
    if (!presentation.spoken) return;
    if (this.#state !== null && this.#state !== presentation.spoken) this.say('state', presentation.spoken);
    const isFirst = this.#state === null;
    this.#state = presentation.spoken;
    const {apology} = presentation;
    if (apology && apology !== this.#apology) {
      this.#apology = apology;
      if (!isFirst) this.say('apology', apology);
    }
    this.#updatePosition(presentation, isFirst);
    this.#updateArrival(presentation, isFirst);
  }

  #updatePosition = ({isMapped, isStale, spokenPosition}, isFirst) => {
    // Without a map, the announcement of the state is sufficient.
    const wasStale = this.#isStale;
    this.#isStale = isMapped && Boolean(isStale);
    if (isMapped && wasStale !== this.#isStale && !isFirst) this.say('position', spokenPosition);
  };

  #updateArrival = ({arrivesAt, isArriving, isLate = false, eta, isMapped}, isFirst) => {
    if (!isMapped) {
      this.unsay('arrival');
      [this.#arrivesAt, this.#isArriving, this.#isLate] = [null, false, false];
      return;
    }
    if (arrivesAt === null) return;
    const hasMoved = this.#arrivesAt === null || Math.abs(arrivesAt - this.#arrivesAt) >= ANNOUNCED_SHIFT;
    const hasCome = (isArriving && !this.#isArriving) || (isLate && !this.#isLate);
    if (hasMoved) this.#arrivesAt = arrivesAt;
    [this.#isArriving, this.#isLate] = [isArriving, isLate];
    if ((hasMoved || hasCome) && !isFirst) this.say('arrival', sentence(eta));
  };
}
