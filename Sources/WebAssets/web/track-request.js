// The requests with which the customer's page changes something.

import {gateway} from './page-gateway.js';

/** ms after which a request without a response has failed. */
const GIVE_UP = 10_000;

/**
 * A request of the gateway's REST interface.
 *
 * @param header for `Authorization` @param more further headers
 * @returns its status; 0 without a response
 */
export async function send(method, path, body, header, more) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), GIVE_UP);
  try {
    const headers = {Authorization: header, 'Content-Type': 'application/json', ...more};
    const answer = await fetch(`${gateway}/api/v1/${path}`, {
      method, headers, body: JSON.stringify(body), signal: abort.signal,
    });
    return answer.status;
  } catch {
    return 0;
  } finally {
    clearTimeout(timer);
  }
}
