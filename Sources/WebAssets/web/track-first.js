// The first state, before a socket is open. For a signed-in customer the server renders it into the page as JSON. Otherwise
// the page requests its own address with the credential and takes the state from the response.

import {gateway} from './page-gateway.js';

const FIRST = 'script#first[type="application/json"]';
const MORE = 'script#more[type="application/json"]';
// ms after which a state is requested again.
const ASK_AGAIN = 5_000;
// ms: by then the socket has delivered the state.
const GIVE_UP = 8_000;
// ms by which clocks may differ: the header `Date` has whole seconds.
const SAME_TIME = 2_000;

/** What an HTTP status means: a key of `words.refusals`, or that signing in is needed. */
const REFUSED = {401: 'signIn', 403: 'unknown', 404: 'unknown', 410: 'unknown', 429: 'limited', 503: 'down'};

function read(root, what) {
  try {
    return JSON.parse(root.querySelector(what)?.textContent ?? 'null');
  } catch {
    return null;
  }
}

/** Texts taken from the rendered page, enough until the real texts are loaded. */
function namesOn(root, {status}) {
  const text = (id) => root.getElementById(id)?.textContent.trim() ?? '';
  const statuses = {};
  for (const {dataset, textContent} of root.querySelectorAll('#steps > li[data-step]')) {
    const name = textContent.trim();
    statuses[dataset.step] = {short: name, long: name, spoken: name, next: ''};
  }
  const long = text('headline');
  statuses[status] = {short: statuses[status]?.short ?? long, long, spoken: long, next: text('detail')};
  return {statuses, tracking: {}};
}

const stateOn = (root, age, clockOffset = 0) => {
  const snapshot = read(root, FIRST);
  return snapshot && {snapshot, age, clockOffset, names: namesOn(root, snapshot), more: read(root, MORE) ?? {}};
};

/** The state in the page as loaded, read before any script changes it. */
const here = stateOn(document, Math.round(performance.now()));

/** The request that track-start.js has sent already with the same credential, once. */
function started(header) {
  const {enrouteStarted} = globalThis;
  delete globalThis.enrouteStarted;
  return enrouteStarted?.header === header ? enrouteStarted.answer : null;
}

/**
 * @param header for `Authorization`
 * @returns `{snapshot, age, clockOffset, names, more}` with the age of the state in ms, by how many ms the gateway's clock is
 *     ahead, texts in the form of `GET texts`, and what the snapshot does not contain (`Story`); `{refusal}`; or null if there
 *     was no response
 */
export const firstState = async (header) => here ?? await stateNow(header);

/** Requests the state from the gateway, in the same form. @param cache with `reload`, worker.js returns no cached state */
export async function stateNow(header, cache = 'no-store') {
  const abort = new AbortController();
  let timer;
  const tooLate = new Promise((_, reject) => {
    timer = setTimeout(() => { abort.abort(); reject(new Error('no answer')); }, GIVE_UP);
  });
  try {
    const answer = await Promise.race([started(header) ?? fetch(location.pathname + location.search, {
      headers: {Authorization: header, Accept: 'text/html'}, signal: abort.signal, cache,
    }), tooLate]);
    if (!answer.ok) return {refusal: REFUSED[answer.status] ?? (answer.status >= 500 ? 'down' : 'other')};
    // A state from the service worker's cache is as old as its header says.
    const [now, keptAt] = [Date.now(), Number(answer.headers.get('Enroute-Kept'))];
    const ahead = keptAt ? 0 : Date.parse(answer.headers.get('Date')) - now;
    const root = new DOMParser().parseFromString(await answer.text(), 'text/html');
    return stateOn(root, Math.max(0, now - (keptAt || now)), Math.abs(ahead) > SAME_TIME ? ahead : 0);
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a response has a state from the gateway, not one that worker.js cached. */
export const isFresh = (answer) => Boolean(answer?.snapshot) && !answer.snapshot.kept;

/** Requests the state until the gateway returns it or reports that there is no such order. */
export async function freshState(header) {
  for (;;) {
    const answer = await stateNow(header, 'reload');
    if (isFresh(answer) || ['signIn', 'unknown'].includes(answer?.refusal)) return answer;
    await new Promise((resolve) => { setTimeout(resolve, ASK_AGAIN); });
  }
}

/** Loads the texts in a language; null if there was no response. */
export async function statusTexts(language) {
  const answer = await fetch(`${gateway}/api/v1/texts?language=${language}`).catch(() => null);
  return answer?.ok ? answer.json().catch(() => null) : null;
}
