// Requests over the socket and to the REST API, their addresses, and the error type for all failed requests.

import {CREDENTIAL_LATE, JOB_NAME} from './enroute-timing.js';

/** ms to wait for an answer or a response. */
const ANSWER_WITHIN = 15_000;

/**
 * Why a request failed: `code` is an error code of the protocol, or `network` if the gateway was unreachable or did not
 * respond.
 */
export class EnrouteError extends Error {
  /** @param {{code: string, message: string, retry?: boolean, retryInMs?: number}} what and further members of the problem */
  constructor({code, message, retry = false, retryInMs, ...more}) {
    super(message);
    this.name = 'EnrouteError';
    Object.assign(this, {code, retry, retryInMs, ...more});
  }
}

/** The client refuses a bad name itself, because the gateway would close the connection for a malformed message. */
export const badName = {type: 'error', code: 'not_found', message: 'This is not a valid id.'};

/** The error when the gateway cannot be reached or does not answer. */
const unreachable = (message) => new EnrouteError({code: 'network', message, retry: true});

/** Returns the absolute addresses of the WebSocket and of the REST API, which has the same prefix. */
export function addresses({url = '/v1', rest = `${/^(.*[^/])\/v1\/?$/.exec(url)?.[1] ?? ''}/api/v1`}) {
  const [host, here] = [/^(?:ws|http)s?:\/\/[^/]+/, globalThis.location?.origin ?? ''];
  const absolute = (path, usual) => {
    // The gateway's address alone is sufficient, as for the Swift client.
    const [alone] = host.exec(path) ?? [];
    if (alone) return alone === path.replace(/\/$/, '') ? alone + usual : path;
    if (path.startsWith('/')) return (host.exec(url)?.[0] ?? here) + path;
    // After an origin, a host without a scheme would become another host, and the credential would be sent to it.
    throw new TypeError(`This is not a valid address: ${path}`);
  };
  return {url: absolute(url, '/v1').replace(/^http/, 'ws'), rest: absolute(rest, '/api/v1').replace(/^ws/, 'http')};
}

// ---- over the socket ----

/** Matches requests with answers by `ref`: a refusal by the rate limit overtakes the answers to earlier requests. */
export class SocketRequests {
  #pending = new Map(); #sent = 0;

  constructor(timers, gateway) { Object.assign(this, {timers, gateway}); }

  /** Sends a message and waits for its answer. @param isAwaited whether the sender handles a refusal; see `settle` */
  send(message, isAwaited = true) {
    return new Promise((resolve, reject) => {
      if (message.job !== undefined && !JOB_NAME.test(message.job)) throw new EnrouteError(badName);
      if (this.gateway.isFull) throw unreachable('Too many messages wait to be sent.');
      const ref = String(this.#sent += 1);
      if (!this.gateway.send({...message, ref})) throw unreachable('There is no connection to the gateway.');
      const timer = this.timers.setTimeout(() => {
        this.#pending.delete(ref);
        reject(unreachable('The gateway did not answer in time. The request may have been executed or not.'));
      }, ANSWER_WITHIN);
      this.#pending.set(ref, {message, resolve, reject, isAwaited, timer});
    });
  }

  /** Whether a request to switch travel mode was sent and is not answered. */
  switchesTravel(job) {
    return [...this.#pending.values()].some(({message}) => message.type === 'travel' && message.job === job);
  }

  /** @returns whether the message answers a request whose sender handles it */
  settle(message) {
    const request = this.#pending.get(message.ref);
    if (!this.#pending.delete(message.ref)) return false;
    this.timers.clearTimeout(request.timer);
    if (message.type === 'ok') request.resolve(message);
    else request.reject(new EnrouteError(message));
    return request.isAwaited;
  }

  disconnected() {
    for (const {reject, timer} of this.#pending.values()) {
      this.timers.clearTimeout(timer);
      reject(unreachable('The connection was lost before the answer. The request may have been executed or not.'));
    }
    this.#pending.clear();
  }
}

// ---- to the REST API ----

/**
 * Sends a request. Its time limit includes the credential.
 *
 * @param {object} options the options of `Enroute`, with all defaults
 * @param {string} method
 * @param {string} path below `rest`
 * @param {{body?: unknown, headers?: Record<string, string>}} what
 * @returns {Promise<{status: number, headers: Headers, body: unknown}>} for 2xx and 304
 * @throws {EnrouteError} with the code of the problem document, or `network`
 */
export async function request({fetch, rest, timers, credential}, method, path, {body, headers = {}} = {}) {
  const abort = new AbortController();
  const late = new Promise((_, reject) => { abort.signal.addEventListener('abort', reject); });
  const timer = timers.setTimeout(() => abort.abort(), ANSWER_WITHIN);
  let signedIn, response, answer;
  try {
    // The app's function may fail or never return.
    signedIn = await Promise.race([credential(), late]) ?? {};
    response = await fetch(rest + path, {
      // A gateway never redirects, but a network with a sign-in page does.
      method, signal: abort.signal, redirect: 'error',
      headers: {
        ...(signedIn.token && {Authorization: `Bearer ${signedIn.token}`}),
        ...(signedIn.link && {Authorization: `Link ${signedIn.link}`}),
        ...(body !== undefined && {'Content-Type': 'application/json'}), ...headers,
      },
      ...(body !== undefined && {body: JSON.stringify(body)}),
    });
    const text = await response.text();
    try {
      answer = text ? JSON.parse(text) : null;
    } catch {
      if (response.ok) throw Error('it is not JSON, and may be the page of a proxy or a network');
    }
  } catch (error) {
    const why = abort.signal.aborted ? 'no answer in time'
      : [error?.message ?? error, error?.cause?.message].filter(Boolean).join(': ');
    throw unreachable(signedIn ? `${method} ${path} got no answer: ${why}`
      : abort.signal.aborted ? CREDENTIAL_LATE : `No credential is available: ${why}`);
  } finally {
    timers.clearTimeout(timer);
  }
  const {status, ok} = response;
  if (ok || status === 304) return {status, headers: response.headers, body: answer};
  const problem = typeof answer === 'object' ? answer ?? {} : {};
  const after = Number(response.headers.get('Retry-After'));
  throw new EnrouteError({
    ...problem, code: problem.code ?? 'internal', message: problem.detail ?? problem.title ?? `HTTP ${status}`,
    // Proxies respond without a problem document.
    retry: problem.retryable ?? (status >= 500 || [408, 425, 429].includes(status)), status,
    ...(after > 0 && {retryInMs: after * 1000}),
  });
}
