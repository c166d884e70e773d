// The rider's jobs: which there are, what is known of each, and what the rider does with them. The gateway tells a
// rider's tasks when it is asked (`GET riders/me`), and of each job whatever happens as it happens.

import {allowsTravel, headingFor, isOver, isWaitingForVendor} from './rider-tasks.js';

/** Jobs that are shown, at most: as many as a session may follow. */
const MOST_JOBS = 10;
/** Words of the gateway for a journey that is over. */
const JOURNEY_OVER = ['paused', 'arrived', 'ended'];
/** Words of the gateway for a job that is not this rider's. */
const NOT_THEIRS = ['not_found', 'forbidden'];
/** Words of the gateway for a step that can not be taken from where the job is. */
const NOT_FROM_HERE = ['illegal_transition', 'conflict', 'not_found'];

/** Whether all of a job was told, not only what changed. */
const isWhole = (change) => change === 'snapshot' || change === 'reset';

/**
 * A question that is asked once at a time, of something that changes meanwhile: what was asked for before a change is
 * not taken, but asked for once more.
 */
export class LatestRequest {
  #turn = 0;
  #asking = null;

  /** @param {() => Promise<Answer>} ask never throws. @param {(answer: Answer) => void} take the newest one */
  constructor(ask, take) {
    Object.assign(this, {ask, take});
  }

  /** Something has changed, or may have: whatever is on its way says what was before. */
  changed() { this.#turn += 1; }

  /** @returns {Promise<void>} once an answer to what is so now was taken */
  now() {
    this.#asking ??= this.#ask().finally(() => { this.#asking = null; });
    return this.#asking;
  }

  #ask = async () => {
    for (;;) {
      const turn = this.#turn;
      const answer = await this.ask();
      if (turn === this.#turn) return this.take(answer);
    }
  };
}

export class Jobs {
  #jobs = new Map();
  /** Tasks that the rider was shown, so that each is news once. */
  #sent = new Set();

  /**
   * @param enroute
   * @param travel travel mode, which ends with a job and goes on after a reload
   * @param navigation which fetches the way ahead of the tap
   * @param {{changed: () => void, say: (topic: string, text: string) => void, recheck: () => Promise<void>}} on
   */
  constructor(enroute, travel, navigation, words, on) {
    Object.assign(this, {enroute, travel, navigation, words, on});
    // Also where the view shows nothing new: the vendor may be elsewhere under the same name.
    for (const whole of ['subscribed', 'reset']) enroute.on(whole, ({job}) => this.#described(this.#jobs.get(job)));
  }

  get count() { return this.#jobs.size; }

  /** Each as its card shows it: `{job, task, view, travel, canWhy, gone, message, hint, busy, names}`. */
  get all() {
    const {words} = this;
    const endings = {delivered: words.jobDone, completed: words.jobDone, cancelled: words.jobCancelled};
    return [...this.#jobs.values()].map((known) => {
      const {view} = known.follow;
      const travel = this.travel.stateOf(known.job);
      return {
        ...known, view, travel, canWhy: travel === 'interrupted',
        message: known.gone || endings[view.status] || known.message, hint: view.known ? this.#hint(known, view) : '',
      };
    });
  }

  /** @param job whose card is there from now on, unless there are as many as there may be and none of them is over */
  follow(job) {
    if (this.#jobs.has(job) || !this.#makeRoom()) return;
    const known = {
      job, task: null, message: '', about: null, busy: null, names: {}, gone: null, again: null, version: 0,
    };
    this.#jobs.set(job, known);
    known.follow = this.enroute.follow(job, (view, change) => this.#heard(known, view, change));
  }

  /** The oldest card of what is over gives way to what is to be done. @returns whether there is room for a card */
  #makeRoom = () => {
    if (this.#jobs.size < MOST_JOBS) return true;
    const oldest = [...this.#jobs.values()].find(({gone, follow}) => gone || isOver(follow.view.status));
    if (oldest) this.dismiss(oldest.job);
    return oldest !== undefined;
  };

  /** The rider has put the card of what is over away. */
  dismiss(job) {
    const known = this.#jobs.get(job);
    known?.follow.stop();
    known?.again?.stop();
    this.#jobs.delete(job);
    this.on.changed();
  }

  /** @param {{job: string, state: string}[]} tasks all of the rider's. @param {boolean} isFirst they are no news */
  tasks(tasks, isFirst) {
    const states = new Map(tasks.map(({job, state}) => [job, state]));
    for (const known of this.#jobs.values()) {
      if (states.has(known.job) || known.task === null) continue;
      known.task = null;
      if (!isOver(known.follow.view.status)) this.#leaves(known, this.words.jobReassigned);
      this.travel.ended(known.job);
    }
    for (const job of this.#sent) if (!states.has(job)) this.#sent.delete(job);
    for (const [job, task] of states) {
      const before = this.#jobs.get(job);
      const isNews = !isFirst && (!before || before.gone) && !this.#sent.has(job);
      this.follow(job);
      const known = this.#jobs.get(job);
      if (!known) continue;
      known.task = task;
      if (known.follow.view.ended && !isOver(known.follow.view.status)) {
        this.#followAgain(known);
        continue;
      }
      this.#sent.add(job);
      known.gone = null;
      if (isNews) this.on.say(`job ${job}`, this.words.newTask(job));
    }
    this.on.changed();
  }

  /**
   * A task that was taken away is listed. It may be so still, as the gateway takes the job first and the task after: it
   * is the rider's again once the job is shown again, and until then the card stays as it is.
   */
  #followAgain = (known) => {
    const {job} = known;
    known.again ??= this.enroute.follow(job, (view, change) => {
      const {again} = known;
      if (again && NOT_THEIRS.includes(view.refused?.code)) {
        known.again = null;
        return again.stop();
      }
      if (again && !view.known) return;
      if (again) {
        known.follow.stop();
        Object.assign(known, {follow: again, again: null, gone: null, message: '', about: null});
        this.#sent.add(job);
        if (!isOver(view.status)) this.on.say(`job ${job}`, this.words.newTask(job));
      }
      this.#heard(known, view, change);
    });
  };

  /** It is somebody else's, or nobody's: said once, and a task that comes back is news. */
  #leaves = (known, why) => {
    if (known.gone) return;
    known.gone = known.busy === 'cancelled' ? this.words.taskGone(known.job) : why;
    this.#sent.delete(known.job);
    this.on.say(`job ${known.job}`, known.gone);
  };

  /**
   * Says something on a job's card, and aloud; '' takes it away.
   * @param {string|null} about what may be `settled` without the rider
   */
  note(job, text, about = null) {
    const known = this.#jobs.get(job);
    if (!known) return;
    Object.assign(known, {message: text, about});
    if (text) this.on.say(`job ${job}`, text);
    this.on.changed();
  }

  /** What was noted about this is so no more. */
  settled(job, about) {
    if (this.#jobs.get(job)?.about === about) this.note(job, '');
  }

  /** The network is back: that there was none is no longer so. */
  connected() { for (const job of this.#jobs.keys()) this.settled(job, 'network'); }

  /** What the gateway calls the vendor or the customer; null: nothing. */
  name(job, to, name) {
    const known = this.#jobs.get(job);
    if (known) known.names = {...known.names, [to]: name};
    this.on.changed();
  }

  /** @param step one of `verbsOf` */
  async take(job, {verb, path, body}) {
    const known = this.#jobs.get(job);
    if (!known || known.busy) return;
    const {words} = this;
    Object.assign(known, {busy: verb, message: '', about: null});
    this.on.changed();
    try {
      await this.enroute.rest('POST', `/jobs/${encodeURIComponent(job)}/${path}`, {body});
      if (verb === 'cancelled') this.#leaves(known, words.taskGone(job));
    } catch ({code}) {
      const why = NOT_FROM_HERE.includes(code) ? words.illegal : words.verbFailed;
      if (code === 'network') this.note(job, words.verbNetwork, 'network');
      else this.note(job, why);
    }
    known.busy = null;
    await this.on.recheck();
    this.on.changed();
  }

  #heard = (known, view, change) => {
    const {job} = known;
    if (view.refused) {
      // A connection that is refused says so of all jobs: what is shown stays until somebody is signed in again.
      if (!NOT_THEIRS.includes(view.refused.code)) return;
      this.travel.ended(job);
      return this.dismiss(job);
    }
    this.#journey(job, view, change);
    if (change === 'status') this.on.say(`job ${job}`, this.words.done(this.words.statuses[view.status]));
    if (change === 'proximity' && this.words[view.proximity]) this.on.say(`job ${job}`, this.words[view.proximity]);
    if (view.ended && !isOver(view.status)) this.#leaves(known, this.#whyEnded(known));
    if (view.ended || change === 'status') this.on.recheck();
    // Of a whole state `#described` is told next.
    if (!isWhole(change)) this.#prepare(known);
    this.on.changed();
  };

  #whyEnded = ({job, follow}) => {
    const {words} = this;
    const reasons = {reassigned: words.jobReassigned, completed: words.jobDone, cancelled: words.jobCancelled};
    return reasons[follow.view.ended] ?? words.taskGone(job);
  };

  /** The whole state of a job has come: where it begins and leads to may be elsewhere than before. */
  #described = (known) => {
    if (!known) return;
    known.version += 1;
    this.#prepare(known);
  };

  #prepare = ({job, task, gone, version, follow: {view}}) => {
    if (!view.known || view.ended || isOver(view.status) || gone) return;
    this.navigation.prepare(job, headingFor({...view, task}), version);
  };

  /** Travel mode ends with the journey, whoever ended it, and goes on after the page was loaded again. */
  #journey = (job, view, change) => {
    const isUnderway = allowsTravel(view.status) && !view.ended;
    if (isUnderway && !(JOURNEY_OVER.includes(view.tracking) && (isWhole(change) || change === 'tracking'))) {
      if (isWhole(change)) this.travel.resume(job);
      return;
    }
    if (this.travel.travelling.has(job) && view.reason === 'time_limit') this.note(job, this.words.timeLimit);
    this.travel.ended(job);
  };

  #hint = ({task}, {kind, status, proximity}) => {
    const {words} = this;
    if (proximity === 'arrived' || proximity === 'approaching') return words[proximity];
    if (task && isWaitingForVendor({kind, status, task})) return words.notReady(words.statuses[status]);
    return kind === 'service' && status === 'assigned' ? words.travelLater : '';
  };
}
