// The texts of `<enroute-job>`, as a value: derives them from a view, a connection, the gateway's translations and the time.
// Nothing here uses a document or a clock, so tests can try every state without a browser.

import {arrivalText, updatedText} from './enroute-words.js';

/** ms until a lost connection is shown: most reconnects are faster. */
export const LOST_AFTER = 2_000;
/** ms without a message from the gateway after which an older position is stale. Otherwise the gateway reports it. */
export const STALE_AFTER = 30_000;

/** `https://track.example/track/visit-1?lang=de#secret`: the address of a tracking link, with or without a language. */
export const LINK = /^(https?:\/\/.+)\/track\/([A-Za-z0-9_-]+)(?:\?[^#]*)?#(.+)$/;

const TRAVELLING = ['on_the_way', 'in_transit'];
const SEEN = ['live', 'stale'];
/** Statuses whose short text is sufficient. */
const BRIEF = ['delivered', 'completed'];
/** End reasons after which nothing of the job stays visible. */
const TAKEN_AWAY = ['revoked', 'reassigned'];
/** The close code when the session limit is reached. */
const FULL = 4009;

const WORDS = {
  en: {
    moment: 'One moment…', afterStop: 'after another stop', lost: 'No connection. Trying to reconnect…',
    late: 'Updates are delayed right now.', full: 'Too many people are viewing this right now. We’ll keep trying.',
    expired: 'This tracking link has expired or is incomplete.', signIn: 'Please sign in again.',
    taken: 'This is no longer shared with you.', unknown: 'We can’t find this order or visit.',
    other: 'We can’t show this right now.',
  },
  de: {
    moment: 'Einen Moment …', afterStop: 'nach einem weiteren Stopp',
    lost: 'Keine Verbindung. Wir versuchen es weiter …',
    late: 'Aktualisierungen kommen gerade verspätet.',
    full: 'Das sehen sich gerade zu viele Personen an. Wir versuchen es weiter.',
    expired: 'Dieser Tracking-Link ist abgelaufen oder unvollständig.', signIn: 'Bitte melden Sie sich wieder an.',
    taken: 'Dies wird nicht mehr mit Ihnen geteilt.', unknown: 'Wir finden diese Bestellung oder diesen Termin nicht.',
    other: 'Wir können dies gerade nicht anzeigen.',
  },
};

const wordsOf = (language) => WORDS[language.split('-')[0].toLowerCase()] ?? WORDS.en;
const readable = (status) => (status ?? '').replace(/_/g, ' ').replace(/^./, (letter) => letter.toUpperCase());

/**
 * Returns everything that the element shows; an empty text is hidden.
 *
 * @param {import('./enroute').View} view
 * @param {object} moment `connection`; `lostFor`: ms since the connection was lost, 0 while it is open; `now` and `wall`: the
 *     monotonic clock and the wall clock; `heardAt`: by the wall clock, when the gateway last sent something; `locale`;
 *     `isLink`: whether the credential is a tracking link
 * @param {object|null} texts the response of `GET texts`, `null` until it is loaded
 * @returns {{status: string, tracking: string, arrival: string, updated: string, note: string}}
 */
export function elementTexts(view, moment, texts) {
  const words = wordsOf(moment.locale);
  const only = (status) => ({status, tracking: '', arrival: '', updated: '', note: ''});
  const refusal = refusalOf(view, moment);
  if (refusal) return only(words[refusal]);
  if (!view.known) return {...only(words.moment), note: noteOf(moment, words)};
  const isTravelling = TRAVELLING.includes(view.status) && !view.ended;
  const age = ageOf(view, moment);
  const isSeen = isTravelling && SEEN.includes(view.tracking) && view.position !== null;
  const isStale = isSeen && (view.tracking === 'stale'
    || Math.min(age, moment.wall - (moment.heardAt ?? 0)) > STALE_AFTER);
  const note = noteOf(moment, words);
  return {
    status: statusText(view.status, texts), tracking: isTravelling ? trackingText(view, isStale, texts) : '',
    arrival: isSeen ? arrivalOf(view, isStale, moment, words) : '',
    updated: isSeen && (isStale || note) ? updatedText(age, moment.locale) : '', note,
  };
}

/** Why nothing of the job may be shown: a key of the words, or `null`. */
function refusalOf(view, {connection, isLink}) {
  const {state, close} = connection;
  if (state === 'refused') {
    if ([4500, 4502].includes(close?.code) && TAKEN_AWAY.includes(view.ended)) return 'taken';
    // The session of a link ends with its job, but how the job ended stays visible.
    if (close?.code === 4500 && view.ended) return null;
    if (close?.code === 4502) return isLink ? 'expired' : 'taken';
    return [4005, 4500].includes(close?.code) ? (isLink ? 'expired' : 'signIn') : 'other';
  }
  if (view.refused) return view.refused.code === 'limit_exceeded' ? 'full' : isLink ? 'expired' : 'unknown';
  if (TAKEN_AWAY.includes(view.ended)) return 'taken';
  return state === 'waiting' && close?.code === FULL && !view.known ? 'full' : null;
}

function noteOf({connection, lostFor}, words) {
  if (lostFor >= LOST_AFTER && connection.state !== 'refused') return words.lost;
  return connection.state === 'open' && (connection.degraded || connection.silent) ? words.late : '';
}

function statusText(status, texts) {
  const text = texts?.statuses?.[status];
  return (BRIEF.includes(status) ? text?.short : text?.long) ?? readable(status);
}

/** The tracking state, or the sentence that explains why no location arrives, which is more important. */
function trackingText(view, isStale, texts) {
  const reason = view.unavailable && view.unavailable !== 'unavailable_unknown' && texts?.tracking?.[view.unavailable];
  if (reason && (isStale || view.position === null)) return reason[view.kind] ?? reason.spoken;
  const name = isStale ? 'stale' : view.text ?? view.tracking;
  return texts?.tracking?.[name]?.short ?? readable(view.tracking);
}

/** The arrival time. Without a recent position it is shown as recalculating. */
function arrivalOf(view, isStale, {wall, locale}, words) {
  if (!view.eta) return '';
  const eta = isStale ? {...view.eta, state: 'recalculating'} : view.eta;
  const text = arrivalText(eta, wall + view.clockOffset, locale, {clockOffset: view.clockOffset});
  return eta.state === 'ok' && eta.stopsBefore ? `${text}, ${words.afterStop}` : text;
}

/** The monotonic clock may stop while a phone sleeps, and the wall clock may be set back, so the greater age counts. */
const ageOf = ({positionReceivedAt, positionReceivedAtWall}, {now, wall}) =>
  (positionReceivedAt === null ? 0 : Math.max(0, now - positionReceivedAt, wall - (positionReceivedAtWall ?? wall)));
