// The card about location sharing: whether it works, until when, and what is wrong with it.

import {clockText} from './enroute-words.js';
import {locale, put} from './page.js';

const percent = new Intl.NumberFormat(locale, {style: 'percent'});

/** ms without a reading, despite repeated requests, after which the phone counts as not finding its location. */
export const FOUND_WITHIN = 30_000;

/**
 * Returns what is wrong with location sharing, as a key of `words.troubles`; null if everything works.
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

  /** Notes the interval that the gateway asked for. It is in the page for support and tests; riders do not see it. */
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
    const until = Number.isFinite(deadline) ? ` · ${words.until(clockText(deadline, locale))}` : '';
    return (travel.isConfirmed ? words.live : words.waitingForFix) + until;
  };
}
