// Which map apps a phone can open and how, decided from the gateway's candidates, so that tests need no phone.

/**
 * Returns the address that opens an app on this platform, or undefined if there is none. On iPhones `https:` addresses come
 * first: they open the app, or the browser if the app is missing, while an app's own scheme would open nothing.
 *
 * @param {{ios?: string, android?: string, web?: string}} candidate
 * @param {'ios'|'android'|'web'} platform
 */
export const addressFor = (candidate, platform) => (platform === 'ios'
  ? candidate.web ?? candidate.ios : candidate[platform] ?? candidate.web);

/** Schemes that never belong to an app. */
const NO_APP = /^\s*(javascript|data|blob|file|about):/i;

/** Returns the candidates that this platform can open: `{app, label, address}`, best first. */
export const usable = (candidates, platform) => candidates
  .map((candidate) => ({app: candidate.app, label: candidate.label, address: addressFor(candidate, platform)}))
  .filter(({address}) => typeof address === 'string' && !NO_APP.test(address));

/** Returns the key of the text that says why there are no directions. */
export function refusalWord({code, status}, to) {
  if (status === 401) return 'signInExpired';
  if (code === 'network') return 'navigateNetwork';
  if (code === 'destination_unresolvable') return to === 'vendor' ? 'badVendorAddress' : 'badAddress';
  return 'navigateFailed';
}
