// Requests to the REST API, and the error type for all failed requests, over the socket or by REST.

/** ms to wait for an answer. */
export const ANSWER_WITHIN = 15_000;

/**
 * Why a request failed: `code` is an error code of the protocol, or `network` if the gateway was unreachable or did not
 * answer.
 */
export class EnrouteError extends Error {
  /** @param {{code: string, message: string, retry?: boolean, retryInMs?: number}} what and further members of the problem */
  constructor({code, message, retry = false, retryInMs, ...more}) {
    super(message);
    this.name = 'EnrouteError';
    Object.assign(this, {code, retry, retryInMs, ...more});
  }
}

/** The error when the gateway cannot be reached or does not answer. */
export const unreachable = (message) => new EnrouteError({code: 'network', message, retry: true});

/**
 * Sends a request.
 *
 * @param {object} options the options of `Enroute`, with all defaults
 * @param {string} method
 * @param {string} path below `rest`
 * @param {{body?: unknown, headers?: Record<string, string>}} what
 * @returns {Promise<{status: number, headers: Headers, body: unknown}>} for 2xx and 304
 * @throws {EnrouteError} with the code of the problem document, or `network`
 */
export async function request({fetch, rest, timers, credential}, method, path, {body, headers = {}} = {}) {
  let signedIn;
  try {
    signedIn = await credential();
  } catch (error) {
    throw unreachable(`No credential is available: ${error?.message ?? error}`);
  }
  const abort = new AbortController();
  const timer = timers.setTimeout(() => abort.abort(), ANSWER_WITHIN);
  let response, text;
  try {
    response = await fetch(rest + path, {
      method, signal: abort.signal,
      headers: {
        ...(signedIn?.token && {Authorization: `Bearer ${signedIn.token}`}),
        ...(signedIn?.link && {Authorization: `Link ${signedIn.link}`}),
        ...(body !== undefined && {'Content-Type': 'application/json'}), ...headers,
      },
      ...(body !== undefined && {body: JSON.stringify(body)}),
    });
    text = await response.text();
  } catch (error) {
    throw unreachable(`${method} ${path} got no answer: ${error.message}`);
  } finally {
    timers.clearTimeout(timer);
  }
  let answer = text;
  // Other text than JSON is returned as it is.
  try { answer = text === '' ? null : JSON.parse(text); } catch {}
  if (response.ok || response.status === 304) return {status: response.status, headers: response.headers, body: answer};
  const problem = answer !== null && typeof answer === 'object' ? answer : {};
  const after = Number(response.headers.get('Retry-After'));
  throw new EnrouteError({
    ...problem, code: problem.code ?? 'internal', message: problem.detail ?? problem.title ?? `HTTP ${response.status}`,
    retry: problem.retryable ?? response.status >= 500, status: response.status,
    ...(after > 0 && {retryInMs: after * 1000}),
  });
}
