// What the page asks the gateway, again and again: each question at its own pace, one at a time, none while nobody looks, and
// at once when somebody looks again. Of a zone's jobs only what changed is asked for. What fails is asked again later; the
// page keeps what it shows, and says that it is old.

const PAGE = 1_000;          // jobs of one answer while a zone is read for the first time: none takes long to read in
const GIVE_UP = 15_000;      // ms for an answer
const AGAIN = 3_000;         // ms after a failure
const REFUSED_AGAIN = 10_000;   // ms after "too many" and after a refusal

/** An answer that is none: `status` of HTTP, 0 when nobody answers. */
export class Unanswered extends Error {
  constructor(status) {
    super(`status ${status}`);
    this.status = status;
  }
}

/** Nobody answers, or somebody who can not say: what is shown gets old. */
export const isMissed = (status) => status === 0 || status === 503;

export class Feed {
  #questions = [];
  #isRunning = false;

  /**
   * @param signIn whose `header` is sent; `onState({isOpen, status})`: after each answer, and when the system says that
   *   there is no network, which the next answer may disprove. It is open while every question was answered when it
   *   was asked last: some are where Redis is away, which others need.
   */
  constructor({signIn, onState}) {
    Object.assign(this, {signIn, onState});
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.hurry(); });
    addEventListener('online', () => this.hurry());
    addEventListener('offline', () => { if (this.#isRunning) this.onState({isOpen: false, status: 0}); });
  }

  /** Asks `ask()` every so many ms, from `start` on. @returns asks it anew at once, dropping what is on its way. */
  every(pace, ask) {
    const question = {pace, ask, timer: null, turn: 0, isMissed: false};
    this.#questions.push(question);
    if (this.#isRunning) this.#put(question);
    return () => { if (this.#isRunning) this.#put(question); };
  }

  start() {
    this.#isRunning = true;
    this.hurry();
  }

  stop() {
    this.#isRunning = false;
    for (const question of this.#questions) this.#cancel(question);
  }

  hurry() {
    if (this.#isRunning) for (const question of this.#questions) this.#put(question);
  }

  /** @returns what `GET /api/v1/<path>` answers. @throws Unanswered */
  async get(path) {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), GIVE_UP);
    try {
      const answer = await fetch(`/api/v1/${path}`, {
        headers: {Authorization: this.signIn.header ?? ''}, signal: abort.signal, cache: 'no-store',
      });
      if (!answer.ok) throw new Unanswered(answer.status);
      return await answer.json();
    } catch (error) {
      throw error instanceof Unanswered ? error : new Unanswered(0);
    } finally {
      clearTimeout(timer);
    }
  }

  #cancel = (question) => {
    clearTimeout(question.timer);
    question.turn += 1;
  };

  #put = async (question) => {
    this.#cancel(question);
    const {turn} = question;
    // `isStill`: nobody asked anew meanwhile, so what came may be shown.
    const isStill = () => this.#isRunning && question.turn === turn;
    let wait = question.pace;
    if (!document.hidden) {
      try {
        await question.ask(isStill);
        if (isStill()) this.#answered(question, 200);
      } catch (error) {
        wait = [401, 403, 429].includes(error.status) ? REFUSED_AGAIN : Math.max(AGAIN, question.pace);
        // What is our own mistake is told as that, and the question is asked on.
        if (!(error instanceof Unanswered)) queueMicrotask(() => { throw error; });
        else if (isStill()) this.#answered(question, error.status);
      }
    }
    if (isStill()) question.timer = setTimeout(() => this.#put(question), wait);
  };

  #answered = (question, status) => {
    question.isMissed = isMissed(status);
    this.onState({isOpen: status === 200 && !this.#questions.some((other) => other.isMissed), status});
  };
}

/**
 * Brings a list up to date. While it is read for the first time it has no version: if that ends early, it begins anew.
 * @returns whether anything changed; `onPart()` after each page but the last
 */
export async function follow(feed, zone, list, isStill, onPart) {
  const path = `zones/${encodeURIComponent(zone)}/jobs`;
  if (list.version) {
    const answer = await feed.get(`${path}?since=${encodeURIComponent(list.version)}`);
    return isStill() && list.take(answer);
  }
  let answer = await feed.get(`${path}?limit=${PAGE}`);
  if (!isStill()) return false;
  const {version} = answer;
  list.take({...answer, version: null});
  while (answer.next) {
    onPart();
    answer = await feed.get(`${path}?limit=${PAGE}&after=${answer.next}`);
    if (!isStill()) return false;
    list.take(answer, {isContinued: true});
  }
  list.version = version;
  return true;
}
