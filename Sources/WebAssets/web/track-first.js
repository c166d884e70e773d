// The first state, before a socket is open: the page that the server renders for who is signed in holds it as JSON. A
// page that was loaded with the header has it already; otherwise it is fetched by the same address.

const FIRST = 'script#first[type="application/json"]';
const GIVE_UP = 8_000;    // ms: by then the socket has told more

/** What a status says of whoever asks: sentences of `words.refusals`, or that nobody is signed in. */
const REFUSED = {401: 'signIn', 403: 'unknown', 404: 'unknown', 410: 'unknown', 429: 'limited', 503: 'down'};

function read(root) {
  try {
    return JSON.parse(root.querySelector(FIRST)?.textContent ?? 'null');
  } catch {
    return null;
  }
}

/** What the server called things on the page that it rendered: enough as long as the texts themselves are not here. */
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

/** Of the page as it was loaded, before a script wrote on it. */
const here = stateOn(document, Math.round(performance.now()));

/**
 * @param header for `Authorization`
 * @returns `{snapshot, age, names}` with the age of what the snapshot says in ms, and what things are called as `texts`
 *   does; `{refusal}`; or null when nobody answered
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
    // What the service worker kept is as old as it says.
    const keptAt = Number(answer.headers.get('Enroute-Kept')) || Date.now();
    const age = Math.max(0, Date.now() - keptAt);
    return stateOn(new DOMParser().parseFromString(await answer.text(), 'text/html'), age);
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** The texts of all statuses in a language; null when nobody answers. */
export async function statusTexts(language) {
  const answer = await fetch(`/api/v1/texts?language=${language}`).catch(() => null);
  return answer?.ok ? answer.json().catch(() => null) : null;
}
