// What the page asks the gateway, again and again: each request at its own pace, one at a time, none while nobody looks, and
// at once when somebody looks again. Of a zone's jobs only what changed is asked for. What fails is asked again later; the
// page keeps what it shows, and says that it is old.

const PAGE = 1_000;          // jobs of one answer while a zone is read for the first time: none takes long to read in
const GIVE_UP = 15_000;      // ms for an answer
const AGAIN = 3_000;         // ms after a failure
const REFUSED_AGAIN = 10_000;   // ms after "too many" and after a refusal

/** An answer that is none: `status` of HTTP, 0 when nobody answers. */
export class RequestFailed extends Error {
  constructor(status) {
    super(`status ${status}`);
    this.status = status;
  }
}

/** Nobody answers, or somebody who can not say: what is shown gets old. */
export const isMissed = (status) => status === 0 || status === 503;

export class Poller {
  #requests = [];
  #isRunning = false;

  /**
   * @param signIn whose `header` is sent; `onState({isOpen, status})`: after each answer, and when the system says that
   *   there is no network, which the next answer may disprove. It is open while every request was answered when it
   *   was asked last: some are where Redis is away, which others need.
   */
  constructor({signIn, onState}) {
    Object.assign(this, {signIn, onState});
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.refreshAll(); });
    addEventListener('online', () => this.refreshAll());
    addEventListener('offline', () => { if (this.#isRunning) this.onState({isOpen: false, status: 0}); });
  }

  /** Asks `ask()` every so many ms, from `start` on. @returns asks it anew at once, dropping what is on its way. */
  every(pace, ask) {
    const request = {pace, ask, timer: null, turn: 0, isMissed: false};
    this.#requests.push(request);
    if (this.#isRunning) this.#put(request);
    return () => { if (this.#isRunning) this.#put(request); };
  }

  start() {
    this.#isRunning = true;
    this.refreshAll();
  }

  stop() {
    this.#isRunning = false;
    for (const request of this.#requests) this.#cancel(request);
  }

  refreshAll() {
    if (this.#isRunning) for (const request of this.#requests) this.#put(request);
  }

  /** @returns what `GET /api/v1/<path>` answers. @throws RequestFailed */
  async get(path) {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), GIVE_UP);
    try {
      const answer = await fetch(`/api/v1/${path}`, {
        headers: {Authorization: this.signIn.header ?? ''}, signal: abort.signal, cache: 'no-store',
      });
      if (!answer.ok) throw new RequestFailed(answer.status);
      return await answer.json();
    } catch (error) {
      throw error instanceof RequestFailed ? error : new RequestFailed(0);
    } finally {
      clearTimeout(timer);
    }
  }

  #cancel = (request) => {
    clearTimeout(request.timer);
    request.turn += 1;
  };

  #put = async (request) => {
    this.#cancel(request);
    const {turn} = request;
    // `isCurrent`: nobody asked anew meanwhile, so what came may be shown.
    const isCurrent = () => this.#isRunning && request.turn === turn;
    let wait = request.pace;
    if (!document.hidden) {
      try {
        await request.ask(isCurrent);
        if (isCurrent()) this.#answered(request, 200);
      } catch (error) {
        wait = [401, 403, 429].includes(error.status) ? REFUSED_AGAIN : Math.max(AGAIN, request.pace);
        // What is our own mistake is told as that, and the request is asked on.
        if (!(error instanceof RequestFailed)) queueMicrotask(() => { throw error; });
        else if (isCurrent()) this.#answered(request, error.status);
      }
    }
    if (isCurrent()) request.timer = setTimeout(() => this.#put(request), wait);
  };

  #answered = (request, status) => {
    request.isMissed = isMissed(status);
    this.onState({isOpen: status === 200 && !this.#requests.some((other) => other.isMissed), status});
  };
}

/**
 * Brings a list up to date. While it is read for the first time it has no version: if that ends early, it begins anew.
 * @returns whether anything changed; `onPart()` after each page but the last
 */
export async function updateList(poller, zone, list, isCurrent, onPart) {
  const path = `zones/${encodeURIComponent(zone)}/jobs`;
  if (list.version) {
    const answer = await poller.get(`${path}?since=${encodeURIComponent(list.version)}`);
    return isCurrent() && list.take(answer);
  }
  let answer = await poller.get(`${path}?limit=${PAGE}`);
  if (!isCurrent()) return false;
  const {version} = answer;
  list.take({...answer, version: null});
  while (answer.next) {
    onPart();
    answer = await poller.get(`${path}?limit=${PAGE}&after=${answer.next}`);
    if (!isCurrent()) return false;
    list.take(answer, {isContinued: true});
  }
  list.version = version;
  return true;
}
