// The first state, before a socket is open. For a signed-in customer the server renders it into the page as JSON. Otherwise
// the page requests its own address with the credential and takes the state from the answer.

const FIRST = 'script#first[type="application/json"]';
const GIVE_UP = 8_000;    // ms: by then the socket has delivered the state

/** What an HTTP status means: a key of `words.refusals`, or that signing in is needed. */
const REFUSED = {401: 'signIn', 403: 'unknown', 404: 'unknown', 410: 'unknown', 429: 'limited', 503: 'down'};

function read(root) {
  try {
    return JSON.parse(root.querySelector(FIRST)?.textContent ?? 'null');
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

const stateOn = (root, age) => {
  const snapshot = read(root);
  return snapshot && {snapshot, age, names: namesOn(root, snapshot)};
};

/** The state in the page as loaded, read before any script changes it. */
const here = stateOn(document, Math.round(performance.now()));

/**
 * @param header for `Authorization`
 * @returns `{snapshot, age, names}` with the age of the state in ms and texts in the form of `GET texts`; `{refusal}`; or
 *     null if there was no answer
 */
export async function firstState(header) {
  if (here) return here;
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), GIVE_UP);
  try {
    const answer = await fetch(location.pathname + location.search, {
      headers: {Authorization: header, Accept: 'text/html'}, signal: abort.signal, cache: 'no-store',
    });
    if (!answer.ok) return {refusal: REFUSED[answer.status] ?? (answer.status >= 500 ? 'down' : 'other')};
    // A state from the service worker's cache is as old as its header says.
    const keptAt = Number(answer.headers.get('Enroute-Kept')) || Date.now();
    const age = Math.max(0, Date.now() - keptAt);
    return stateOn(new DOMParser().parseFromString(await answer.text(), 'text/html'), age);
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** Loads the texts in a language; null if there was no answer. */
export async function statusTexts(language) {
  const answer = await fetch(`/api/v1/texts?language=${language}`).catch(() => null);
  return answer?.ok ? answer.json().catch(() => null) : null;
}
