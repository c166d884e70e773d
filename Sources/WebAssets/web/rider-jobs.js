// The rider's jobs: the list, what is known about each, and the rider's steps. The gateway returns the rider's tasks on
// request (`GET riders/me`) and sends the changes of each followed job.

import {StepQueue, UNDO_WITHIN, requestKey} from './rider-steps.js';
import {
  allowsTravel, headingFor, inOrder, isFinal, isOver, isWaitingForVendor, numberOf, startsJourney, verbsOf,
} from './rider-tasks.js';

/** Number of jobs shown, which is the number that a session may follow. The page says how many more tasks there are. */
const MOST_JOBS = 10;
/** ms after which a finished job is followed again: a correction may reopen it, and without a task nothing else says so. */
export const RECHECK_AFTER = 60_000;
/** Tracking states after the end of a trip. */
const JOURNEY_OVER = ['paused', 'arrived', 'ended'];
/** Error codes for a job that is not this rider's. */
const NOT_THEIRS = ['not_found', 'forbidden'];
/** Error codes for a step that the current state of the job does not allow. */
const NOT_FROM_HERE = ['illegal_transition', 'conflict', 'not_found'];

/** Error codes after which the same request is sent again: there was no response, or it is still being carried out. */
const NOT_SENT = ['network', 'request_in_progress'];

/** Whether a change carries the whole state. */
const isWhole = (change) => change === 'snapshot' || change === 'reset';

export class Jobs {
  #jobs = new Map();
  /** Tasks that the rider has seen, so that each is announced once. */
  #sent = new Set();
  /** Tasks without room for their cards. */
  #hidden = [];
  /** Steps that could not be sent yet. */
  #queue = new StepQueue();

  /**
   * @param enroute
   * @param travel travel mode, which ends with a job and continues after a reload
   * @param navigation which loads the route before the tap
   * @param {{changed: () => void, say: (topic: string, text: string) => void, recheck: () => Promise<void>,
   *   newTask: () => void}} on
   */
  constructor(enroute, travel, navigation, words, on) {
    Object.assign(this, {enroute, travel, navigation, words, on});
    // Even if the view did not change: the vendor may have moved under the same name.
    for (const whole of ['subscribed', 'reset']) enroute.on(whole, ({job}) => this.#described(this.#jobs.get(job)));
  }

  get count() { return this.#jobs.size; }

  /** Number of tasks that are not shown. */
  get hidden() { return this.#hidden.length; }

  /** The name of a job for people, if it has a card. */
  nameOf(job) {
    const known = this.#jobs.get(job);
    return known && numberOf(known);
  }

  /** The jobs as their cards show them: `{job, task, view, travel, canWhy, gone, message, hint, busy, names}`. */
  get all() {
    const {words} = this;
    const endings = {delivered: words.jobDone, completed: words.jobDone, cancelled: words.jobCancelled};
    return [...this.#jobs.values()].map((known) => {
      const {view} = known.follow;
      const travel = this.travel.stateOf(known.job);
      return {
        ...known, view, travel, canWhy: travel === 'interrupted', isTimeUp: this.#isTimeUp(view),
        canUndo: !known.gone && !isOver(view.status) && this.#queue.isUndoable(known.job),
        message: known.gone || endings[view.status] || known.message, hint: view.known ? this.#hint(known, view, this.#isTimeUp(view)) : '',
      };
    });
  }

  /** Whether the location can no longer be shared for this job. */
  #isTimeUp = ({reason, travelDeadline}) => {
    const isPast = Number.isFinite(travelDeadline) && travelDeadline <= this.enroute.serverTime;
    return reason === 'time_limit' || isPast;
  };

  /** Follows a job and adds its card, unless the list is full of open jobs. */
  follow(job) {
    if (this.#jobs.has(job) || !this.#makeRoom()) return;
    const known = {
      job, number: null, isNews: false, task: null, message: '', about: null, busy: null, names: {}, places: {}, gone: null,
      again: null, version: 0, endedAt: 0,
    };
    this.#jobs.set(job, known);
    const waiting = this.#queue.get(job);
    if (waiting) Object.assign(known, {busy: waiting.step.verb, message: this.words.verbQueued, about: 'network'});
    if (this.#queue.isUndoable(job)) this.#offerUndo(known, waiting.due);
    known.follow = this.enroute.follow(job, (view, change) => this.#onView(known, view, change));
  }

  /** Removes the oldest finished card if the list is full. @returns whether there is room */
  #makeRoom = () => {
    if (this.#jobs.size < MOST_JOBS) return true;
    const oldest = [...this.#jobs.values()].find(({gone, follow}) => gone || isOver(follow.view.status));
    if (oldest) this.dismiss(oldest.job);
    return oldest !== undefined;
  };

  /** The rider closed the card of a finished job. */
  dismiss(job) {
    const known = this.#jobs.get(job);
    this.#queue.remove(job);
    known?.follow.stop();
    known?.again?.stop();
    this.#jobs.delete(job);
    this.on.changed();
  }

  /** Applies the rider's tasks. @param {{job: string, state: string}[]} tasks @param {boolean} isFirst do not announce them */
  tasks(tasks, isFirst) {
    const states = new Map(inOrder(tasks).map(({job, state}) => [job, state]));
    for (const known of this.#jobs.values()) {
      if (states.has(known.job)) continue;
      const {view} = known.follow;
      if (view.ended && isOver(view.status) && Date.now() - known.endedAt > RECHECK_AFTER) this.#followAgain(known);
      if (known.task === null) continue;
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
      if (known.follow.view.ended) {
        this.#followAgain(known);
        continue;
      }
      this.#sent.add(job);
      known.gone = null;
      if (isNews) this.#arrives(known);
    }
    this.#hide([...states.keys()].filter((job) => !this.#jobs.has(job)), isFirst);
    // The gateway answered, so waiting steps may succeed now.
    this.#sendQueued();
    this.on.changed();
  }

  /**
   * A job that ended for this rider is in the task list. The gateway removes the job before the task, so this may be out of
   * date: the job is the rider's again only once the gateway shows it again. Until then the card stays.
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
        if (!isOver(view.status)) this.#arrives(known);
      }
      this.#onView(known, view, change);
    });
  };

  #arrives = (known) => {
    this.on.newTask();
    known.isNews = true;
    this.#introduce(known);
  };

  /** Announces a new task once its order number is known. */
  #introduce = (known) => {
    const {job, follow: {view}} = known;
    known.number = view.display?.orderNumber ?? known.number;
    if (!known.isNews || !view.known) return;
    known.isNews = false;
    this.on.say(`job ${job}`, this.words.newTask(numberOf(known)));
  };

  #hide = (jobs, isFirst) => {
    const isNews = !isFirst && jobs.some((job) => !this.#hidden.includes(job));
    this.#hidden = jobs;
    if (!isNews) return;
    this.on.newTask();
    this.on.say('more', this.words.moreTasks(jobs.length));
  };

  /** The job is no longer this rider's. That is announced once, and a returning task is announced again. */
  #leaves = (known, why) => {
    if (known.gone) return;
    known.gone = known.busy === 'cancelled' ? this.words.taskGone(numberOf(known)) : why;
    this.#sent.delete(known.job);
    this.on.say(`job ${known.job}`, known.gone);
  };

  /**
   * Shows a text on the card of a job and announces it; '' removes it.
   * @param {string|null} about the cause, whose end `settled` reports
   */
  note(job, text, about = null) {
    const known = this.#jobs.get(job);
    if (!known) return;
    Object.assign(known, {message: text, about});
    if (text) this.on.say(`job ${job}`, text);
    this.on.changed();
  }

  /** The cause of a message is over. */
  settled(job, about) {
    if (this.#jobs.get(job)?.about === about) this.note(job, '');
  }

  /** The network is back: messages about it are out of date, and waiting steps are sent. */
  connected() {
    for (const job of this.#jobs.keys()) if (!this.#queue.get(job)) this.settled(job, 'network');
    this.#sendQueued();
  }

  /** Sets the name of the vendor or the customer and where they are; null if the gateway has none. */
  name(job, to, name, place = null) {
    const known = this.#jobs.get(job);
    if (known) Object.assign(known, {names: {...known.names, [to]: name}, places: {...known.places, [to]: place}});
    this.on.changed();
  }

  /** Performs a step. A final one can be undone first. Without a connection it is sent later. @param step one of `verbsOf` */
  async take(job, step) {
    const known = this.#jobs.get(job);
    if (!known || known.busy) return;
    Object.assign(known, {busy: step.verb, message: '', about: null});
    this.on.changed();
    const waiting = {step, key: requestKey()};
    if (!isFinal(step.verb)) return this.#send(known, waiting);
    const due = Date.now() + UNDO_WITHIN;
    this.#queue.add(job, waiting, due);
    this.on.say(`job ${job}`, this.words.undoHint);
    this.#offerUndo(known, due);
  }

  /** The rider undoes a final step. */
  undo(job) {
    const known = this.#jobs.get(job);
    if (!known || !this.#queue.isUndoable(job)) return;
    this.#queue.remove(job);
    known.busy = null;
    this.note(job, '');
    this.on.say(`job ${job}`, this.words.undone);
  }

  /** Sends steps that can still be undone: the rider leaves the page, which may close. */
  hurry() {
    this.#queue.hurry();
    this.#sendQueued();
    this.on.changed();
  }

  #offerUndo = (known, due) => {
    Object.assign(known, {message: this.words.undoHint, about: 'undo'});
    setTimeout(() => {
      this.#sendQueued();
      this.on.changed();
    }, due - Date.now());
    this.on.changed();
  };

  /** @param waiting `{step, key}`; the key lets the gateway recognize a request whose response was lost */
  #send = async (known, {step: {verb, path, body}, key}) => {
    const {words} = this;
    const {job} = known;
    let failure = null;
    try {
      await this.enroute.rest(
        'POST', `/jobs/${encodeURIComponent(job)}/${path}`, {body, headers: {'Idempotency-Key': key}});
      if (verb === 'cancelled') this.#leaves(known, words.taskGone(numberOf(known)));
    } catch (error) {
      failure = error.status === 401 ? 'unauthorized' : error.code;
    }
    if (NOT_SENT.includes(failure)) {
      this.#queue.add(job, {step: {verb, path, body}, key});
      if (known.message !== words.verbQueued) this.note(job, words.verbQueued, 'network');
      return;
    }
    this.#queue.remove(job);
    this.settled(job, 'network');
    if (failure) {
      const why = failure === 'unauthorized' ? words.signInExpired : words.verbFailed;
      this.note(job, NOT_FROM_HERE.includes(failure) ? words.illegal : why);
    } else if (startsJourney(verb)) this.travel.setOff(job);
    known.busy = null;
    await this.on.recheck();
    this.on.changed();
  };

  /** Sends the waiting steps, unless their job has ended meanwhile. */
  #sendQueued = () => {
    for (const known of this.#jobs.values()) {
      const waiting = this.#queue.start(known.job);
      if (!waiting) continue;
      if (!waiting.isTooOld && !known.gone && !isOver(known.follow.view.status)) {
        this.settled(known.job, 'undo');
        this.#send(known, waiting);
        continue;
      }
      this.#queue.remove(known.job);
      known.busy = null;
      for (const about of ['network', 'undo']) this.settled(known.job, about);
    }
  };

  #onView = (known, view, change) => {
    const {job} = known;
    if (view.refused) {
      // If the whole connection was refused, the cards stay until the rider has signed in again.
      if (!NOT_THEIRS.includes(view.refused.code)) return;
      this.travel.ended(job);
      return this.dismiss(job);
    }
    this.#introduce(known);
    this.#journey(job, view, change);
    if (change === 'status') this.on.say(`job ${job}`, this.words.done(this.words.statuses[view.status]));
    if (change === 'proximity' && this.words[view.proximity]) this.on.say(`job ${job}`, this.words[view.proximity]);
    if (view.ended && !isOver(view.status)) this.#leaves(known, this.#whyEnded(known));
    if (view.ended) known.endedAt = Date.now();
    if (view.ended || change === 'status' || change === 'reset') this.on.recheck();
    // After a snapshot `#described` does it.
    if (!isWhole(change)) this.#prepare(known);
    this.on.changed();
  };

  #whyEnded = (known) => {
    const {words} = this;
    const reasons = {reassigned: words.jobReassigned, completed: words.jobDone, cancelled: words.jobCancelled};
    return reasons[known.follow.view.ended] ?? words.taskGone(numberOf(known));
  };

  /** A snapshot arrived: the vendor or the destination may have changed. */
  #described = (known) => {
    if (!known) return;
    known.version += 1;
    this.#prepare(known);
  };

  #prepare = ({job, task, gone, version, follow: {view}}) => {
    if (!view.known || view.ended || isOver(view.status) || gone) return;
    this.navigation.prepare(job, headingFor({...view, task}), version);
  };

  /** Ends travel mode when the trip ends, and continues it after a reload. */
  #journey = (job, view, change) => {
    const isUnderway = allowsTravel(view.status) && !view.ended;
    if (isUnderway && !(JOURNEY_OVER.includes(view.tracking) && (isWhole(change) || change === 'tracking'))) {
      if (isWhole(change)) this.travel.resume(job);
      return;
    }
    if (this.travel.travelling.has(job) && view.reason === 'time_limit') this.note(job, this.words.timeLimit);
    this.travel.ended(job);
  };

  #hint = ({job, task}, {kind, status, proximity}, isTimeUp) => {
    const {words} = this;
    if (proximity === 'arrived' || proximity === 'approaching') return words[proximity];
    if (task && task !== 'accepted' && isWaitingForVendor({kind, status, task})) return words.notReady(words.statuses[status]);
    if (isTimeUp) return words.travelOver;
    const isFirst = this.travel.stateOf(job) === 'off' && this.travel.mayStart;
    return isFirst && verbsOf({kind, status, task}).some(({verb}) => startsJourney(verb)) ? words.startShares : '';
  };
}
