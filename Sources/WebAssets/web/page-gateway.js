// Where the gateway is. A proxy may serve it below a path prefix, which only the addresses of its files show.

/** The address of the gateway, such as `https://example.com/enroute`. This script is in its folder `assets`. */
export const gateway = new URL('..', import.meta.url).href.slice(0, -1);

/** A part of an address; as it is if it is not percent-encoded correctly. */
export function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}
