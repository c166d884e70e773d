// Texts that other people wrote, in one line. A text that is written from right to left must not change the order of its
// neighbors and must keep its punctuation, so it is isolated.

/** From Hebrew to Arabic, and their presentation forms. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** A text for a place among others, each of its lines with its own direction. A text from left to right stays as it is. */
export const isolated = (text) => (RIGHT_TO_LEFT.test(text) ? text.replace(/[^\n]+/g, '\u2068$&\u2069') : text);

/** The texts that exist, in one line. */
export const listed = (texts, separator = ', ') => texts.filter(Boolean).map(isolated).join(separator);
