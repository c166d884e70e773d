// Types of `@enroute/client/words`: times, distances and arrivals in the reader's language, clock and units. Locales are BCP 47
// tags, such as `en-GB`. The sentences exist in English and German; other languages get English ones, or those of `addWords`.

import type {Eta} from './enroute.js';

/** What an arrival text depends on. */
export type ArrivalKind = 'none' | 'now' | 'within' | 'at' | 'recalculating' | 'unavailable' | 'afterStop';

/** How far the gateway's clock is ahead of the local one, in ms (`view.clockOffset`): texts show local time. */
export interface Clock { readonly clockOffset?: number; readonly timeZone?: string }

/**
 * Returns the reader's own variant of a language: `en-GB` for a page in `en`.
 *
 * @param preferred `navigator.languages`
 */
export function readersLocale(language: string, preferred?: readonly string[]): string;

/** The English texts, to translate. Placeholders for values are in braces: `{time}`. */
export const englishWords: Readonly<Record<string, string>>;

/** Adds a language. Texts that are missing stay English. @param language a BCP 47 tag, of which the primary language counts */
export function addWords(language: string, words: Readonly<Record<string, string>>): void;

/** Returns the text as a whole sentence: with a full stop, unless it already ends with a punctuation mark. */
export function sentence(text: string): string;

/** Whether the locale measures roads in miles. */
export function usesMiles(locale: string): boolean;

/** Returns `2:45 PM`. */
export function clockText(at: number, locale: string, timeZone?: string): string;

/** Returns how long ago: `now`, `42 seconds ago`, `1 minute ago`. @param age ms */
export function agoText(age: number, locale: string): string;

/** Returns `Last updated 1 minute ago`. @param age ms */
export function updatedText(age: number, locale: string): string;

/** Returns `350 m`, `2.5 km`, `500 ft` or `2.5 mi`; as a spoken text `2.5 miles`. */
export function distanceText(meters: number, locale: string, how?: {spoken?: boolean}): string;

/** Decides how to show an arrival: `now` under a minute, `within` minutes under an hour, `at` a time after that. */
export function arrival(eta: Eta | null, serverTime: number): {kind: ArrivalKind; minutes?: number; at?: number};

/**
 * Returns `Arriving now`, `Arriving in 12 min`, `Arriving at 2:45 PM`, `ETA recalculating…`, `ETA unavailable`, or an empty
 * text if nothing is known.
 *
 * @param serverTime `enroute.serverTime`
 */
export function arrivalText(eta: Eta | null, serverTime: number, locale: string, clock?: Clock): string;

/** Describes the map in a sentence: `Your technician is 2.5 miles away and should arrive in 12 minutes.` */
export function mapText(
  what: {who: string; meters: number; eta: Eta | null; serverTime: number} & Clock, locale: string,
): string;
