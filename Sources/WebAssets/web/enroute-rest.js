// Requests to the REST interface, and the one error for whatever was not done, over the socket or by REST.

/** ms for an answer. */
export const ANSWER_WITHIN = 15_000;

/** What was not done: `code` of protocol/messages.md, or `network` when nobody could be asked or nobody answered. */
export class EnrouteError extends Error {
  /** @param {{code: string, message: string, retry?: boolean, retryInMs?: number}} what and what else is known of it */
  constructor({code, message, retry = false, retryInMs, ...more}) {
    super(message);
    this.name = 'EnrouteError';
    Object.assign(this, {code, retry, retryInMs, ...more});
  }
}

/** Nobody could be asked, or nobody answered. */
export const unreachable = (message) => new EnrouteError({code: 'network', message, retry: true});

/**
 * @param {object} options of `Enroute`, complete
 * @param {string} method
 * @param {string} path below `rest`
 * @param {{body?: unknown, headers?: Record<string, string>}} what
 * @returns {Promise<{status: number, headers: Headers, body: unknown}>} of 2xx and 304
 * @throws {EnrouteError} with the code of the problem document, or `network`
 */
export async function request({fetch, rest, timers, credential}, method, path, {body, headers = {}} = {}) {
  let signedIn;
  try {
    signedIn = await credential();
  } catch (error) {
    throw unreachable(`There is nothing to sign in with at the moment: ${error?.message ?? error}`);
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
    throw unreachable(`${method} ${path} was not answered: ${error.message}`);
  } finally {
    timers.clearTimeout(timer);
  }
  let answer = text;
  try { answer = text === '' ? null : JSON.parse(text); } catch { /* No JSON: told as it is. */ }
  if (response.ok || response.status === 304) return {status: response.status, headers: response.headers, body: answer};
  const problem = answer !== null && typeof answer === 'object' ? answer : {};
  const after = Number(response.headers.get('Retry-After'));
  throw new EnrouteError({
    ...problem, code: problem.code ?? 'internal', message: problem.detail ?? problem.title ?? `HTTP ${response.status}`,
    retry: problem.retryable ?? response.status >= 500, status: response.status,
    ...(after > 0 && {retryInMs: after * 1000}),
  });
}
