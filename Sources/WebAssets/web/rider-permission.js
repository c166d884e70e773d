// May this page ask where the rider is (US-122)? One table over everything that can happen to a permission, without a
// browser in it: a phase and an event give the next phase and what is to be done. rider-travel.js carries it out.
//
// What the table promises, and Tests/JavaScript/rider-permission.test.mjs tries on every path through it:
// `ask`, which lets the browser put its question, follows `consent` and nothing else; `begin`, after which the rider is
// located, follows the browser's yes; and after a no the rider is shown how to allow it, and is not asked again.

/** Events that a wish for location becomes, by what is known before anything is asked for. */
const WISHES = {
  'wish.prompt': ['explaining'],
  'wish.unknown': ['explaining'],
  'wish.granted': ['sharing', 'begin'],
  'wish.denied': ['refused'],
  'wish.dismissed': ['dismissed'],
  'wish.insecure': ['insecure'],
  'wish.unsupported': ['unsupported'],
  // Found out before a map app is opened (RDR-014): the phone, which may locate, does not.
  'device.off': ['services'],
};

/** A second tap while a question is open asks no second one. */
const PATIENCE = Object.fromEntries(Object.keys(WISHES).map((wish) => [wish, ['asking']]));

/** Taken back, by the rider in the settings, or by the browser that gave it for once only. */
const TAKEN_BACK = ['revoked', 'unwatch', 'report.permission_denied'];

const CLOSED = ['off', 'drop'];

/** phase → event → [next phase, ...actions]; what is not listed changes nothing. */
export const TABLE = {
  off: {...WISHES},
  explaining: {
    ...WISHES,
    consent: ['asking', 'ask'],
    cancel: CLOSED,
    'changed.granted': ['sharing', 'begin'],
    'changed.denied': ['refused', 'drop'],
  },
  asking: {
    ...PATIENCE,
    fix: ['sharing', 'begin'],
    'changed.granted': ['sharing', 'begin'],
    'changed.denied': ['refused', 'drop', 'remember.refused'],
    'fail.denied': ['refused', 'drop', 'remember.refused'],
    'fail.dismissed': ['dismissed', 'drop', 'remember.dismissed'],
    'fail.services': ['services', 'drop'],
    'fail.unavailable': ['services', 'drop'],
    // The time to answer the question does not count: it was answered with yes, and the sky is not seen yet.
    'fail.timeout': ['sharing', 'begin', 'report.no_fix'],
    cancel: CLOSED,
    stop: CLOSED,
  },
  sharing: {
    'wish.granted': ['sharing', 'begin'],
    // Some browsers grant for once and go on saying `prompt`; we are being told the location as it is.
    'wish.prompt': ['sharing', 'begin'],
    'wish.unknown': ['sharing', 'begin'],
    'wish.dismissed': ['sharing', 'begin'],
    'wish.denied': TAKEN_BACK,
    'changed.denied': TAKEN_BACK,
    'changed.prompt': TAKEN_BACK,
    'fail.denied': TAKEN_BACK,
    'fail.dismissed': TAKEN_BACK,
    'fail.services': ['services', 'unwatch', 'report.services_disabled'],
    'fail.unavailable': ['sharing', 'report.no_fix'],
    'fail.timeout': ['sharing', 'report.no_fix'],
    stop: ['off', 'unwatch'],
  },
  refused: {
    ...WISHES,
    // The rider says that it is allowed now, in a browser that can not be asked whether it is.
    consent: ['asking', 'forget', 'ask'],
    'changed.granted': ['off', 'forget', 'tell.allowed'],
    'changed.prompt': ['off', 'forget'],
    cancel: CLOSED,
  },
  dismissed: {
    ...WISHES,
    consent: ['asking', 'forget', 'ask'],
    'changed.granted': ['off', 'forget', 'tell.allowed'],
    'changed.denied': ['refused'],
    cancel: CLOSED,
  },
  services: {
    ...WISHES,
    'changed.denied': ['refused'],
    cancel: CLOSED,
    stop: CLOSED,
  },
  revoked: {
    ...WISHES,
    // Travel mode is still on: it goes on where it was as soon as it may.
    'changed.granted': ['sharing', 'forget', 'begin'],
    // The panel is put away; travel mode stays interrupted.
    cancel: ['revoked'],
    stop: CLOSED,
  },
  insecure: {...WISHES, cancel: CLOSED},
  unsupported: {...WISHES, cancel: CLOSED},
};

/** Phases that tell the rider something in a panel. */
export const PANELS = [
  'explaining', 'asking', 'refused', 'dismissed', 'services', 'revoked', 'insecure', 'unsupported',
];

/**
 * @param {string} phase
 * @param {string} event
 * @returns {{phase: string, actions: string[]}}
 */
export function step(phase, event) {
  const [next, ...actions] = TABLE[phase][event] ?? [phase];
  return {phase: next, actions};
}

/**
 * What a tap on "Activate Travel Mode" is, by what can be known without locating anybody.
 * @param {{isSecure: boolean, isSupported: boolean, permission: 'prompt'|'granted'|'denied'|'unknown',
 *   before?: 'refused'|'dismissed'|null}} evidence `before`: what the rider answered in this tab
 */
export function wishEvent({isSecure, isSupported, permission, before = null}) {
  if (!isSecure) return 'wish.insecure';
  if (!isSupported) return 'wish.unsupported';
  if (permission === 'granted' || permission === 'denied') return `wish.${permission}`;
  if (before === 'dismissed') return 'wish.dismissed';
  if (before === 'refused') return permission === 'unknown' ? 'wish.denied' : 'wish.dismissed';
  return `wish.${permission}`;
}

/**
 * What a failed look for the location is.
 * @param {number} code of GeolocationPositionError: 1 not permitted, 2 not available, 3 too late
 * @param {'prompt'|'granted'|'denied'|'unknown'} permission what the browser says of us now
 */
export function failEvent(code, permission) {
  if (code === 2) return 'fail.unavailable';
  if (code === 3) return 'fail.timeout';
  // The browser may locate and is not let: location is switched off for the whole device, or for the browser.
  if (permission === 'granted') return 'fail.services';
  return permission === 'prompt' ? 'fail.dismissed' : 'fail.denied';
}

/**
 * Whose settings are to be described. Chrome and Firefox on an iPhone are allowed in the iPhone's settings.
 * @param {string} userAgent
 * @param {number} touchPoints navigator.maxTouchPoints; an iPad calls itself a Macintosh
 */
export function browserOf(userAgent, touchPoints = 0) {
  const isApplePhone = /iPhone|iPad|iPod/.test(userAgent) || (/Macintosh/.test(userAgent) && touchPoints > 1);
  if (isApplePhone) return /CriOS|FxiOS|EdgiOS|OPiOS/.test(userAgent) ? 'otherIos' : 'safariIos';
  if (/SamsungBrowser/.test(userAgent)) return 'samsung';
  if (/Firefox/.test(userAgent)) return /Android/.test(userAgent) ? 'firefoxAndroid' : 'firefox';
  if (/Chrome|Chromium/.test(userAgent)) return /Android/.test(userAgent) ? 'chromeAndroid' : 'chrome';
  return /Safari/.test(userAgent) ? 'safari' : 'other';
}

/** @returns {'ios'|'android'|'web'} what opens a map. */
export function platformOf(userAgent, touchPoints = 0) {
  if (['safariIos', 'otherIos'].includes(browserOf(userAgent, touchPoints))) return 'ios';
  return /Android/.test(userAgent) ? 'android' : 'web';
}
