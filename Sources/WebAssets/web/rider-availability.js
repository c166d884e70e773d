// The availability switch (RDR-009). It shows the state that the gateway knows, never a pending one: while a change is in
// progress the thumb is in the middle, and after a failure the switch returns to where it was, with a message that explains
// why.

import {sentence} from './enroute-words.js';
import {make, put} from './page.js';

/** ms to wait for a response. After that the rider sees an error, and the state is requested once the network is back. */
export const DECLARED_WITHIN = 10_000;

/** ms for which a message stays, and for which one with links stays. */
export const TOLD_FOR = 10_000;
const CHOICE_FOR = 30_000;

/**
 * Returns the heartbeat of a page. It names the page's device only if that device declared last, so that a page that is merely
 * open does not take over.
 */
export const presenceOf = (rider, device, place) => ({...place, ...(rider?.device === device && {device})});

/** Returns the texts for an error, by its code. */
function sentences(error, words) {
  if (error.status === 401) return [words.signInExpired];
  switch (error.code) {
    case 'network': return [words.networkError];
    case 'active_task': return [words.activeTask];
    case 'forbidden': return [words.notApproved];
    case 'not_found': return [words.noZone];
    case 'conflict': return [words.otherDevice];
    case 'rate_limited': return [words.tooOften(Math.ceil((error.retryInMs ?? 10_000) / 1000))];
    default: return [words.notUpdated];
  }
}

/** Returns the text that says whether the rider gets tasks, and if not, why. */
function shiftDetail(rider, words) {
  if (!rider.approved) return words.notApproved;
  if (rider.status === 'offline') {
    return rider.reason && rider.reason !== 'expired' ? words.forcedOffline : words.shiftOffline;
  }
  if (rider.draining) return words.shiftDraining;
  if (!rider.reachable) return words.notHeard;
  return rider.tasks.length >= rider.capacity ? words.shiftFull : words.shiftOnline;
}

export class Availability {
  #pending = null;
  #rider = null;
  /** The cause of the message and the state of the rider at that time; null without a message. */
  #shown = null;
  #leaving = null;

  /**
   * @param {{button: Element, title: Element, detail: Element, state: Element, card: Element, snack: Element,
   *   message: Element, close: Element}} places
   * @param {(status: string) => Promise<object>} declare sends the new status and returns the rider's state after it
   * @param {{rider: (rider: object) => void, recheck: () => void, say: (text: string) => void,
   *   nameOf: (job: string) => string|undefined}} on `nameOf`: of a task with a card
   */
  constructor(places, words, declare, on) {
    Object.assign(this, {places, words, declare, on});
    places.button.addEventListener('click', () => this.toggle());
    places.close.addEventListener('click', () => this.#closeSnack());
  }

  /** @param rider the state that the gateway knows; null for a rider without a zone, who has nothing to declare */
  show(rider) {
    this.#rider = rider;
    // A change of state may have removed the cause of the message.
    if (this.#shown !== null) {
      this.#shown.state ??= stateOf(rider);
      if (this.#shown.state !== stateOf(rider)) this.#closeSnack();
    }
    this.#render();
  }

  /** The network is back, so a message about it is out of date. */
  connected() { if (this.#shown?.code === 'network') this.#closeSnack(); }

  async toggle() {
    if (this.#pending || !this.#rider) return;
    const wish = this.#rider.status === 'online' ? 'offline' : 'online';
    this.#pending = wish;
    this.#closeSnack();
    this.#render();
    this.on.say(wish === 'online' ? this.words.goingOnline : this.words.goingOffline);
    try {
      if (navigator.onLine === false) throw Object.assign(new Error('offline'), {code: 'network'});
      const rider = await inTime(this.declare(wish), DECLARED_WITHIN);
      this.#pending = null;
      this.on.rider(rider);
      this.on.say(rider.status === 'online' ? this.words.youAreOnline : this.words.youAreOffline);
    } catch (error) {
      this.#pending = null;
      this.#tell(error);
      this.#shown = {code: error.code, state: error.code === 'active_task' ? stateOf(this.#rider) : null};
      // The change may have succeeded although the response was lost, so query the gateway.
      if (error.code !== 'active_task') this.on.recheck();
    }
    this.#render();
  }

  #render = () => {
    const {button, title, detail, state, card} = this.places;
    const rider = this.#rider;
    const isOnline = rider?.status === 'online';
    button.hidden = rider === null;
    button.setAttribute('aria-checked', String(isOnline));
    button.setAttribute('aria-label', this.words.availability);
    // A tap still shows the reason, because the approval may have arrived just now.
    button.setAttribute('aria-disabled', String(Boolean(rider) && !rider.approved && !isOnline));
    if (this.#pending) button.setAttribute('aria-busy', 'true');
    else button.removeAttribute('aria-busy');
    card.dataset.status = isOnline ? 'online' : 'offline';
    put(state, this.#pending ? '…' : isOnline ? this.words.stateOnline : this.words.stateOffline);
    if (rider === null) {
      put(title, this.words.title);
      return put(detail, this.words.noZone);
    }
    put(title, this.#pending
      ? this.#pending === 'online' ? this.words.goingOnline : this.words.goingOffline
      : isOnline ? this.words.youAreOnline : this.words.youAreOffline);
    put(detail, this.#pending ? this.words.oneMoment : shiftDetail(rider, this.words));
  };

  #tell = (error) => {
    const {snack, message} = this.places;
    const [text] = sentences(error, this.words);
    message.replaceChildren(make('p', {}, text));
    if (error.code === 'active_task' && error.tasks?.length) {
      const links = error.tasks.filter((job) => this.on.nameOf(job)).map((job) => this.#link(job));
      const more = error.tasks.length - links.length;
      const all = [...links, ...(more ? [this.words.moreTasks(more)] : [])];
      message.append(make('p', {}, this.words.activeTasks, ...all.flatMap((each, at) => [at ? ', ' : ' ', each])));
    }
    // Hide the message for a moment, so that a repeated one visibly appears again.
    snack.hidden = true;
    void snack.offsetWidth;
    snack.hidden = false;
    // For a screen reader, each paragraph is a separate sentence.
    this.on.say([...message.children].map(({textContent}) => sentence(textContent)).join(' '));
    this.#leaveIn(message.querySelector?.('a') ? CHOICE_FOR : TOLD_FOR);
  };

  /** A link to the card of a task. */
  #link = (job) => {
    const link = make('a', {href: `#task-${job}`}, this.on.nameOf(job));
    link.addEventListener('click', (event) => {
      event.preventDefault();
      const card = document.getElementById(`task-${job}`);
      card?.scrollIntoView({block: 'start'});
      card?.querySelector('h3')?.focus();
    });
    return link;
  };

  /** Closes the message later, but not while it has the keyboard focus. */
  #leaveIn = (ms) => {
    clearTimeout(this.#leaving);
    this.#leaving = setTimeout(() => {
      if (this.places.snack.contains(document.activeElement)) this.#leaveIn(ms);
      else this.#closeSnack();
    }, ms);
  };

  #closeSnack = () => {
    clearTimeout(this.#leaving);
    this.#shown = null;
    const hadFocus = this.places.snack.contains(document.activeElement);
    this.places.snack.hidden = true;
    this.places.message.replaceChildren();
    if (hadFocus) this.places.button.focus();
  };
}

/** The parts of the rider's state that a message may depend on. */
const stateOf = (rider) => JSON.stringify([rider?.status, rider?.approved, rider?.tasks?.map(({job}) => job)]);

/** Limits how long a promise may take. @throws {{code: 'network'}} after that time */
export function inTime(promise, ms) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error('No answer came in time.'), {code: 'network'})), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
