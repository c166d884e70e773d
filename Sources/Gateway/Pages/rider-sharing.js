// The card that says what is shared at the moment: that it is, how often, until when, and what is the matter with it.

import {clockText} from './enroute-words.js';
import {locale, put} from './page.js';

const seconds = new Intl.NumberFormat(locale, {style: 'unit', unit: 'second', unitDisplay: 'short'});
const percent = new Intl.NumberFormat(locale, {style: 'percent'});

/** s between two reports until the gateway asks for another pace. */
const FIRST_PACE = 1;

export class Sharing {
  /** s between two reports, as the gateway asks for. */
  pace = FIRST_PACE;

  /** @param {{card: Element, text: Element, rate: Element, note: Element, keep: Element}} places */
  constructor(places, travel, words) {
    Object.assign(this, {places, travel, words});
  }

  show() {
    const {card, text, rate, note, keep} = this.places;
    const {travelling, location, silence} = this.travel;
    card.hidden = travelling.size === 0;
    if (travelling.size === 0) return;
    const isShared = location.isWatching;
    card.dataset.state = isShared ? 'on' : 'interrupted';
    const shared = travelling.size === 1 ? this.words.sharingOne : this.words.sharingMany(travelling.size);
    put(text, isShared ? shared : this.words.interrupted);
    put(rate, isShared ? this.#rate() : this.words.notShared);
    put(note, silence.note === 'battery'
      ? this.words.battery(percent.format(silence.battery.level)) : this.words[silence.note] ?? '');
    keep.hidden = !isShared;
  }

  #rate = () => {
    const {words, travel} = this;
    const deadline = Math.min(...[...travel.travelling.values()].filter(Boolean));
    // The gateway's clock says when it is over, the rider's own what time that is here.
    const clockOffset = travel.enroute.serverTime - Date.now();
    const until = Number.isFinite(deadline) ? `, ${words.until(clockText(deadline - clockOffset, locale))}` : '';
    return (travel.lastFixAt === null ? words.waitingForFix : words.rate(seconds.format(this.pace))) + until;
  };
}
