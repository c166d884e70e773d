// Polls the gateway: each resource at its own interval, one request at a time, and immediately when the page is visible again.
// While it is hidden, only what needs a dispatcher is requested, and rarely. Only changes of the job list are requested. Failed
// requests are repeated later; the page keeps what it shows and says that it is out of date.

import {gateway} from './page-gateway.js';

/** Jobs per response when a zone is first loaded, so that no response takes long. */
const PAGE = 1_000;
/** ms to wait for a response. */
const GIVE_UP = 15_000;
/** ms before a retry. */
const AGAIN = 3_000;
/** ms between two requests while the page is hidden. After some minutes browsers allow a timer only once a minute. */
export const HIDDEN = 30_000;
/** ms before a retry after 401, 403 and 429. */
const REFUSED_AGAIN = 10_000;

/** A difference between the clocks of device and gateway counts from this many ms: the header Date has whole seconds. */
const TOLERANCE = 2_000;
let offset = 0;

/** The gateway's time, in ms since the epoch: the device's clock may be wrong by hours. */
export const clock = () => Date.now() + offset;

/** @param date of a response that was just received */
export function setClock(date) {
  const measured = Date.parse(date) + 500 - Date.now();
  if (Math.abs(measured - offset) > TOLERANCE) offset = measured;
}

/** A request without a usable response: `status` of HTTP, 0 without a response, and the `code` of the problem, if any. */
export class RequestFailed extends Error {
  constructor(status, code = '') {
    super(`status ${status} ${code}`);
    [this.status, this.code] = [status, code];
  }
}

/** Whether the gateway or its Redis is unreachable, so that the page becomes out of date. */
export const isMissed = (status) => status === 0 || status === 503;

export class Poller {
  #requests = [];
  #isRunning = false;

  /**
   * @param signIn whose `header` is sent. `onState({isOpen, status})` is called after each response, and when the device
   *     reports that it is offline. The state is open while the last request for every resource succeeded: without Redis only
   *     some do.
   */
  constructor({signIn, onState}) {
    Object.assign(this, {signIn, onState});
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.refreshAll(); });
    addEventListener('online', () => this.refreshAll());
    addEventListener('offline', () => { if (this.#isRunning) this.onState({isOpen: false, status: 0}); });
  }

  /**
   * Requests a resource with `ask()` every `pace` ms, once started.
   * @param isAlways also while the page is hidden
   * @returns a function that repeats it immediately, dropping a pending response
   */
  every(pace, ask, {isAlways = false} = {}) {
    const request = {pace, ask, isAlways, timer: null, turn: 0, isMissed: false};
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

  /** @returns the response to `GET /api/v1/<path>`. @throws RequestFailed */
  get(path) { return this.request('GET', path); }

  /** @returns the response to `POST /api/v1/<path>`, without a body. @throws RequestFailed */
  post(path) { return this.request('POST', path); }

  /** @param body is sent as JSON, if there is one. @returns the response; null if it is empty. @throws RequestFailed */
  async request(method, path, body) {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), GIVE_UP);
    try {
      const answer = await fetch(`${gateway}/api/v1/${path}`, {
        method, headers: {
          Authorization: this.signIn.header ?? '', ...(body && {'Content-Type': 'application/json'}),
        },
        ...(body && {body: JSON.stringify(body)}), signal: abort.signal, cache: 'no-store',
      });
      setClock(answer.headers.get('Date'));
      if (!answer.ok) {
        const problem = await answer.json().catch(() => null);
        throw new RequestFailed(answer.status, String(problem?.code ?? ''));
      }
      return answer.status === 204 ? null : await answer.json();
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
    // `isCurrent`: no newer request has started, so the response may be shown.
    const isCurrent = () => this.#isRunning && request.turn === turn;
    let wait = request.pace;
    if (request.isAlways || !document.hidden) {
      try {
        await request.ask(isCurrent);
        if (isCurrent()) this.#answered(request, 200);
      } catch (error) {
        wait = [401, 403, 429].includes(error.status) ? REFUSED_AGAIN : Math.max(AGAIN, request.pace);
        // A programming error is reported as such, and polling continues.
        if (!(error instanceof RequestFailed)) queueMicrotask(() => { throw error; });
        else if (isCurrent()) this.#answered(request, error.status);
      }
    }
    if (isCurrent()) request.timer = setTimeout(() => this.#put(request), document.hidden ? HIDDEN : wait);
  };

  #answered = (request, status) => {
    request.isMissed = isMissed(status);
    this.onState({isOpen: status === 200 && !this.#requests.some((other) => other.isMissed), status});
  };
}

/** Returns a function that runs `render()` once, in the next animation frame. A hidden page has none, so a timer runs it. */
export function rendering(render) {
  let isDue = false;
  const draw = () => {
    if (!isDue) return;
    isDue = false;
    render();
  };
  const schedule = () => (document.hidden ? setTimeout(draw, 0) : requestAnimationFrame(draw));
  document.addEventListener('visibilitychange', () => { if (isDue) schedule(); });
  return () => {
    if (!isDue) schedule();
    isDue = true;
  };
}

/**
 * Brings a list up to date. Until the first load is complete the list has no version, so an interrupted load starts over.
 * @returns whether anything changed; `onPart()` is called after each page but the last
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
