// Which map apps a phone can open, and how: decided from the gateway's candidates, so that a test needs no phone.

/**
 * The address that opens an app on this platform; undefined where there is none. An iPhone opens `https:` in the app that
 * claims it and in the browser otherwise, where an app's own scheme opens nothing when the app is not there.
 *
 * @param {{ios?: string, android?: string, web?: string}} candidate
 * @param {'ios'|'android'|'web'} platform
 */
export const addressFor = (candidate, platform) => (platform === 'ios'
  ? candidate.web ?? candidate.ios : candidate[platform] ?? candidate.web);

/** Schemes that are never an app's. */
const NO_APP = /^\s*(javascript|data|blob|file|about):/i;

/** The candidates that this platform can open, `{app, label, address}`, best first. */
export const usable = (candidates, platform) => candidates
  .map((candidate) => ({app: candidate.app, label: candidate.label, address: addressFor(candidate, platform)}))
  .filter(({address}) => typeof address === 'string' && !NO_APP.test(address));

/** Which word of the page says why there are no directions. */
export function refusalWord({code}, to) {
  if (code === 'network') return 'navigateNetwork';
  if (code === 'destination_unresolvable') return to === 'vendor' ? 'badVendorAddress' : 'badAddress';
  return 'navigateFailed';
}
