// The card that says what is shared at the moment: that it is, how often, until when, and what is the matter with it.

import {clockText} from './enroute-words.js';
import {locale, put} from './page.js';

const percent = new Intl.NumberFormat(locale, {style: 'percent'});

/** ms without a reading, while the phone is asked for one again and again, from which on it does not find its location. */
export const FOUND_WITHIN = 30_000;

/**
 * What is the matter with what is shared, by the name of its words; null: it is sent, and may be shown.
 *
 * @param {{isWatching: boolean, connection: {state: string, degraded: boolean, silent?: boolean}, note: string|null,
 *   foundAgo: number|null}} now `note` of rider-unavailability.js; ms since the last reading, null before the first
 */
export function trouble({isWatching, connection, note, foundAgo}) {
  if (!isWatching) return 'interrupted';
  if (connection.state !== 'open') return 'offline';
  if (connection.silent) return 'silent';
  if (note === 'noFix' || (foundAgo !== null && foundAgo > FOUND_WITHIN)) return 'notFound';
  if (note === 'coarse') return 'coarse';
  return connection.degraded ? 'delayed' : null;
}

export class Sharing {
  /** @param {{card: Element, text: Element, rate: Element, note: Element, keep: Element}} places */
  constructor(places, travel, words) {
    Object.assign(this, {places, travel, words});
  }

  /** The gateway asked for another pace. It is on the page for support and tests; the rider does not read it. */
  paced(seconds) { this.places.rate.dataset.intervalSeconds = String(seconds); }

  show() {
    const {card, text, rate, note, keep} = this.places;
    const {travelling, location, unavailability} = this.travel;
    card.hidden = travelling.size === 0;
    if (travelling.size === 0) return;
    const {lastFixAt, enroute} = this.travel;
    const what = trouble({
      isWatching: location.isWatching, connection: enroute.connection, note: unavailability.note,
      foundAgo: lastFixAt === null ? null : performance.now() - lastFixAt,
    });
    card.dataset.state = what ? 'interrupted' : 'on';
    const shared = travelling.size === 1 ? this.words.sharingOne : this.words.sharingMany(travelling.size);
    put(text, what ? this.words.troubles[what] : shared);
    put(rate, what ? this.words.consequences[what] : this.#rate());
    const said = what === 'notFound' ? 'noFix' : unavailability.note;
    put(note, said === 'battery'
      ? this.words.battery(percent.format(unavailability.battery.level)) : this.words[said] ?? '');
    keep.hidden = !location.isWatching;
  }

  #rate = () => {
    const {words, travel} = this;
    const deadline = Math.min(...[...travel.travelling.values()].filter(Boolean));
    // The gateway's clock says when it is over, the rider's own what time that is here.
    const clockOffset = travel.enroute.serverTime - Date.now();
    const until = Number.isFinite(deadline) ? ` · ${words.until(clockText(deadline - clockOffset, locale))}` : '';
    return (travel.lastFixAt === null ? words.waitingForFix : words.live) + until;
  };
}
