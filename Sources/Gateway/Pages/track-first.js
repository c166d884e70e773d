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

/**
 * @param header for `Authorization`
 * @returns `{snapshot, age}` with the age of what the snapshot says in ms, `{refusal}`, or null when nobody answered
 */
export async function firstState(header) {
  const here = read(document);
  if (here) return {snapshot: here, age: Math.round(performance.now())};
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), GIVE_UP);
  try {
    const answer = await fetch(location.pathname + location.search, {
      headers: {Authorization: header, Accept: 'text/html'}, signal: abort.signal, cache: 'no-store',
    });
    if (!answer.ok) return {refusal: REFUSED[answer.status] ?? (answer.status >= 500 ? 'down' : 'other')};
    const snapshot = read(new DOMParser().parseFromString(await answer.text(), 'text/html'));
    return snapshot && {snapshot, age: 0};
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
