// Formats times, distances and arrivals with `Intl`, in the reader's language, with the reader's clock and units. It contains
// the texts that all clients share; a page contains its own sentences. Functions take the time as an argument.

/** Regions that measure roads in miles. */
const MILES = new Set(['US', 'GB', 'LR', 'MM']);
const METERS_PER_MILE = 1609.344;
const METERS_PER_FOOT = 0.3048;
/** Distance in m at which the rider is here: less than GPS can measure. */
const HERE_WITHIN = 20;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The English texts, to translate: `addWords('fr', {...})`. */
export const englishWords = {
  now: 'Arriving now', within: 'Arriving in {time}', at: 'Arriving at {time}',
  recalculating: 'ETA recalculating\u2026', unavailable: 'ETA unavailable', afterStop: 'After another stop',
  updated: 'Last updated {ago}',
  here: '{who} is here.', away: '{who} is {far} away.',
  awayNow: '{who} is {far} away and should arrive any moment.',
  awayWithin: '{who} is {far} away and should arrive in {time}.',
  awayAt: '{who} is {far} away and should arrive at {time}.',
};

const WORDS = {
  en: englishWords,
  de: {
    now: 'Gleich da', within: 'Ankunft in {time}', at: 'Ankunft um {time}',
    recalculating: 'Ankunft wird neu berechnet \u2026', unavailable: 'Ankunftszeit nicht verf\u00fcgbar',
    afterStop: 'Nach einem weiteren Stopp', updated: 'Zuletzt aktualisiert {ago}',
    here: '{who} ist da.', away: '{who} ist {far} entfernt.',
    awayNow: '{who} ist {far} entfernt und kommt jeden Moment an.',
    awayWithin: '{who} ist {far} entfernt und kommt voraussichtlich in {time} an.',
    awayAt: '{who} ist {far} entfernt und kommt voraussichtlich um {time} an.',
  },
};

/**
 * Adds a language. Texts that are missing stay English.
 *
 * @param {string} language a BCP 47 tag, of which the primary language counts
 * @param {Record<string, string>} words like `englishWords`, with the same places for values
 */
export function addWords(language, words) {
  WORDS[languageOf(language)] = {...(WORDS[languageOf(language)] ?? WORDS.en), ...words};
}

/** Caches formatters: creating one takes longer than using it, and a page uses the same ones every second. */
const made = new Map();
function formatter(kind, locale, options) {
  const key = `${kind} ${locale} ${JSON.stringify(options)}`;
  if (!made.has(key)) made.set(key, new Intl[kind](locale, options));
  return made.get(key);
}

/** Parses the tag itself, because some engines of React Native have no `Intl.Locale`. */
const languageOf = (locale) => locale.split('-')[0].toLowerCase();
const regionOf = (locale) => /-([a-z]{2})(?:-|$)/i.exec(locale)?.[1].toUpperCase();
const wordsOf = (locale) => WORDS[languageOf(locale)] ?? WORDS.en;
const fill = (sentence, values) => sentence.replace(/\{(\w+)\}/g, (_, name) => values[name]);

/**
 * Returns the reader's own variant of a language: with `en-GB` among the preferred ones, a page in `en` uses British clocks and
 * units.
 *
 * @param {string} language of the page
 * @param {readonly string[]} preferred `navigator.languages`
 */
export function readersLocale(language, preferred = []) {
  return preferred.find((locale) => languageOf(locale) === languageOf(language)) ?? language;
}

/** Returns the text as a whole sentence: with a full stop, unless it already ends with a punctuation mark (`9 Min.`). */
export const sentence = (text) => (/[.!?\u2026]$/.test(text.trim()) ? text : `${text}.`);

/** Whether the locale measures roads in miles. English without a region counts as American, as in `Intl`. */
export function usesMiles(locale) {
  return MILES.has(regionOf(locale) ?? (languageOf(locale) === 'en' ? 'US' : ''));
}

/** Returns `2:45 PM`, with a space at which no line breaks. `timeZone` is for tests. */
export function clockText(at, locale, timeZone) {
  const options = {hour: 'numeric', minute: '2-digit', ...(timeZone && {timeZone})};
  return formatter('DateTimeFormat', locale, options).format(at).replace(/ /g, '\u202f');
}

/**
 * Returns how long ago: `now`, `42 seconds ago`, `1 minute ago`.
 *
 * @param {number} age ms
 */
export function agoText(age, locale) {
  const format = formatter('RelativeTimeFormat', locale, {numeric: 'auto'});
  if (age < MINUTE) return format.format(-Math.max(0, Math.floor(age / 1000)), 'second');
  if (age < HOUR) return format.format(-Math.floor(age / MINUTE), 'minute');
  return format.format(-Math.floor(age / HOUR), 'hour');
}

/** Returns `Last updated 1 minute ago`. */
export function updatedText(age, locale) {
  return fill(wordsOf(locale).updated, {ago: agoText(age, locale)});
}

/**
 * Returns `350 m`, `2.5 km`, `500 ft` or `2.5 mi`; as a spoken text `2.5 miles`.
 *
 * @param {number} meters
 * @param {string} locale
 * @param {{spoken?: boolean}} how
 */
export function distanceText(meters, locale, how = {}) {
  const say = (value, unit, digits) => formatter('NumberFormat', locale, {
    style: 'unit', unit, unitDisplay: how.spoken ? 'long' : 'short', maximumFractionDigits: digits,
  }).format(value);
  const rounded = (value, step) => Math.round(value / step) * step;
  if (usesMiles(locale)) {
    const miles = meters / METERS_PER_MILE;
    return miles < 0.1 ? say(rounded(meters / METERS_PER_FOOT, 50), 'foot', 0) : say(miles, 'mile', miles < 10 ? 1 : 0);
  }
  return meters < 995 ? say(rounded(meters, 10), 'meter', 0) : say(meters / 1000, 'kilometer', meters < 9_950 ? 1 : 0);
}

const minutesText = (minutes, locale, isSpoken) => formatter('NumberFormat', locale, {
  style: 'unit', unit: 'minute', unitDisplay: isSpoken ? 'long' : 'short',
}).format(minutes);

/**
 * Decides how to show an arrival: `now` under a minute, `within` minutes under an hour, `at` a time after that.
 *
 * @param {{state: string, arrivesAt?: number, stopsBefore?: number}|null} eta
 * @param {number} serverTime ms since the epoch, by the gateway's clock
 * @returns {{kind: 'none'|'now'|'within'|'at'|'recalculating'|'unavailable'|'afterStop', minutes?: number, at?:
 *     number}}
 */
export function arrival(eta, serverTime) {
  if (!eta) return {kind: 'none'};
  if (eta.state === 'recalculating') return {kind: 'recalculating'};
  if (eta.state !== 'ok') return {kind: eta.stopsBefore ? 'afterStop' : 'unavailable'};
  const rest = eta.arrivesAt - serverTime;
  if (rest < MINUTE) return {kind: 'now'};
  const minutes = Math.round(rest / MINUTE);
  return minutes < 60 ? {kind: 'within', minutes} : {kind: 'at', at: eta.arrivesAt};
}

/**
 * Returns `Arriving now`, `Arriving in 12 min`, `Arriving at 2:45 PM`, `ETA recalculating…`, `ETA unavailable`, or an empty
 * text if nothing is known.
 *
 * @param {object|null} eta
 * @param {number} serverTime ms, as for `arrival`
 * @param {string} locale
 * @param {{clockOffset?: number, timeZone?: string}} clock how far the gateway's clock is ahead of the local one, in ms: the
 *     text shows local time
 */
export function arrivalText(eta, serverTime, locale, {clockOffset = 0, timeZone} = {}) {
  const {kind, minutes, at} = arrival(eta, serverTime);
  if (kind === 'none') return '';
  const time = kind === 'at' ? clockText(at - clockOffset, locale, timeZone)
    : kind === 'within' ? minutesText(minutes, locale, false) : '';
  return fill(wordsOf(locale)[kind], {time});
}

/**
 * Describes the map in a sentence: `Your technician is 2.5 miles away and should arrive in 12 minutes.`
 *
 * @param {{who: string, meters: number, eta: object|null, serverTime: number, clockOffset?: number, timeZone?: string}}
 *     what
 * @param {string} locale
 */
export function mapText({who, meters, eta, serverTime, clockOffset = 0, timeZone}, locale) {
  const {kind, minutes, at} = arrival(eta, serverTime);
  const words = wordsOf(locale);
  if (meters <= HERE_WITHIN) return fill(words.here, {who});
  const sentence = {now: words.awayNow, within: words.awayWithin, at: words.awayAt}[kind] ?? words.away;
  const time = kind === 'at' ? clockText(at - clockOffset, locale, timeZone)
    : kind === 'within' ? minutesText(minutes, locale, true) : '';
  return fill(sentence, {who, far: distanceText(meters, locale, {spoken: true}), time});
}
