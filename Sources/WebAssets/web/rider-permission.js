// The location permission (US-122) as one state table that does not use a browser: a phase and an event determine the next
// phase and the actions, which rider-travel.js performs.
//
// The table guarantees the following, and Tests/JavaScript/rider-permission.test.mjs checks it on every path: the action
// `ask`, which lets the browser show its question, follows only the event `consent`; `begin`, which starts reading the
// location, follows only the browser's permission; after a refusal, the rider reads how to allow it and is not asked again.

/** Events for a wish to use the location, by what is known before anyone is asked. */
const WISHES = {
  'wish.prompt': ['explaining'],
  'wish.unknown': ['explaining'],
  'wish.granted': ['sharing', 'begin'],
  'wish.denied': ['refused'],
  'wish.dismissed': ['dismissed'],
  'wish.insecure': ['insecure'],
  'wish.unsupported': ['unsupported'],
  // Detected before a map app opens (RDR-014): the phone is allowed to locate but cannot.
  'device.off': ['services'],
};

/** While the browser's question is open, a second tap does not ask again. */
const PATIENCE = Object.fromEntries(Object.keys(WISHES).map((wish) => [wish, ['asking']]));

/** The permission was revoked: in the settings, or by a browser that granted it only once. */
const TAKEN_BACK = ['revoked', 'unwatch', 'report.permission_denied'];

const CLOSED = ['off', 'drop'];

/** phase → event → [next phase, ...actions]. Events that are not listed change nothing. */
export const TABLE = {
  off: {...WISHES},
  explaining: {
    ...WISHES,
    consent: ['asking', 'ask'],
    cancel: CLOSED,
    'changed.granted': ['sharing', 'begin'],
    'changed.denied': ['refused'],
  },
  asking: {
    ...PATIENCE,
    fix: ['sharing', 'begin'],
    'changed.granted': ['sharing', 'begin'],
    'changed.denied': ['refused', 'remember.refused'],
    'fail.denied': ['refused', 'remember.refused'],
    'fail.dismissed': ['dismissed', 'remember.dismissed'],
    'fail.services': ['services', 'drop'],
    'fail.unavailable': ['services', 'drop'],
    // The time limit started before the rider answered. The location is allowed, but the receiver has no position yet.
    'fail.timeout': ['sharing', 'begin', 'report.no_fix'],
    cancel: CLOSED,
    stop: CLOSED,
  },
  sharing: {
    'wish.granted': ['sharing', 'begin'],
    // Some browsers grant the permission once but keep reporting `prompt`, although readings arrive.
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
    // The rider says that the location is allowed now, in a browser that does not report the permission.
    consent: ['asking', 'forget', 'ask'],
    // The rider allowed it in the settings while the panel is open: continue with what the rider wanted.
    'changed.granted': ['sharing', 'forget', 'begin', 'tell.allowed'],
    'changed.prompt': ['off', 'drop', 'forget'],
    cancel: CLOSED,
  },
  dismissed: {
    ...WISHES,
    consent: ['asking', 'forget', 'ask'],
    'changed.granted': ['sharing', 'forget', 'begin', 'tell.allowed'],
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
    // Travel mode is still on, and continues as soon as the location is allowed.
    'changed.granted': ['sharing', 'forget', 'begin'],
    // The panel closes; travel mode stays interrupted.
    cancel: ['revoked'],
    stop: CLOSED,
  },
  insecure: {...WISHES, cancel: CLOSED},
  unsupported: {...WISHES, cancel: CLOSED},
};

/** Phases that show the panel. */
export const PANELS = [
  'explaining', 'asking', 'refused', 'dismissed', 'services', 'revoked', 'insecure', 'unsupported',
];

/**
 * Looks up a transition.
 * @param {string} phase
 * @param {string} event
 * @returns {{phase: string, actions: string[]}}
 */
export function step(phase, event) {
  const [next, ...actions] = TABLE[phase][event] ?? [phase];
  return {phase: next, actions};
}

/**
 * Returns the event for a tap on "Activate Travel Mode", by what is known without locating anyone.
 * @param {{isSecure: boolean, isSupported: boolean, permission: 'prompt'|'granted'|'denied'|'unknown',
 *   before?: 'refused'|'dismissed'|null}} evidence `before`: the rider's earlier answer in this tab
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
 * Returns the event for a failed reading.
 * @param {number} code of GeolocationPositionError: 1 not permitted, 2 not available, 3 timed out
 * @param {'prompt'|'granted'|'denied'|'unknown'} permission the browser's current permission
 */
export function failEvent(code, permission) {
  if (code === 2) return 'fail.unavailable';
  if (code === 3) return 'fail.timeout';
  // The page is allowed but the browser is not: location is switched off for the device or the browser.
  if (permission === 'granted') return 'fail.services';
  return permission === 'prompt' ? 'fail.dismissed' : 'fail.denied';
}

/**
 * Returns the browser whose settings to describe. Chrome and Firefox on an iPhone use the iPhone's settings.
 * @param {string} userAgent
 * @param {number} touchPoints navigator.maxTouchPoints, because an iPad calls itself a Macintosh
 */
export function browserOf(userAgent, touchPoints = 0) {
  const isApplePhone = /iPhone|iPad|iPod/.test(userAgent) || (/Macintosh/.test(userAgent) && touchPoints > 1);
  if (isApplePhone) return /CriOS|FxiOS|EdgiOS|OPiOS/.test(userAgent) ? 'otherIos' : 'safariIos';
  if (/SamsungBrowser/.test(userAgent)) return 'samsung';
  if (/Firefox/.test(userAgent)) return /Android/.test(userAgent) ? 'firefoxAndroid' : 'firefox';
  if (/Chrome|Chromium/.test(userAgent)) return /Android/.test(userAgent) ? 'chromeAndroid' : 'chrome';
  return /Safari/.test(userAgent) ? 'safari' : 'other';
}

/** @returns {'ios'|'android'|'web'} the platform that opens maps */
export function platformOf(userAgent, touchPoints = 0) {
  if (['safariIos', 'otherIos'].includes(browserOf(userAgent, touchPoints))) return 'ios';
  return /Android/.test(userAgent) ? 'android' : 'web';
}
