// The list of tasks. Each card is built once and then only changed, so that neither the focus nor a screen reader loses its
// place. A card shows its data and reports taps; it decides nothing.

import {ConfirmButton, HoldButton, TAP_PAUSE} from './rider-buttons.js';
import {
  RETURNABLE, TASK_STATES, allowsTravel, headingFor, isFinal, isOver, isWaitingForVendor, numberOf, startsJourney, verbsOf,
} from './rider-tasks.js';
import {contactLink} from './page-contact.js';
import {isolated, listed} from './page-lists.js';
import {spanTexts} from './page-times.js';
import {locale, make, put} from './page.js';

const presentation = (paths) => `<svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">${paths}</svg>`;
const PICTURES = {
  delivery: presentation('<path d="M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8"/>'),
  service: presentation('<path d="M14 6a4 4 0 0 0-5 5l-6 6 3 3 6-6a4 4 0 0 0 5-5l-2.5 2.5-3-3z"/>'),
  way: presentation('<path d="M4 20V10a4 4 0 0 1 4-4h11M15 2l4 4-4 4"/>'),
  pin: presentation('<path d="M12 21s-7-6.2-7-11.5a7 7 0 0 1 14 0C19 14.8 12 21 12 21z"/><circle cx="12" cy="9.5" r="2"/>'),
};

/** Number of progress segments, and the index of the active one. */
function progress({kind, task, status, steps}) {
  if (kind === 'delivery' && task) return {count: TASK_STATES.length + 1, at: TASK_STATES.indexOf(task)};
  const own = steps.filter((step) => !['cancelled', 'allocation_failed'].includes(step.status));
  const active = own.findIndex((step) => step.status === status);
  return {count: own.length, at: isOver(status) && active < 0 ? own.length : active};
}

/** The name of the vendor or the recipient, if the gateway knows it. */
const nameOf = (job, to, words) => (to === 'vendor' ? job.view.vendor : job.view.recipient?.name) ?? job.names?.[to]
  ?? (to === 'vendor' ? words.vendor : words.customer);

/** Name and address of the vendor or the recipient, whichever the rider is heading for. */
export function placeText(state, {vendor, vendorAddress, recipient}) {
  const {name, address, floor} = recipient ?? {};
  return listed(headingFor(state) === 'vendor' ? [vendor, vendorAddress] : [name, address, floor]);
}

/** The content, expected time and note of the order, as the order system wrote them. */
export function aboutText({display, clockOffset}, words, now = Date.now() + clockOffset) {
  const {items, window, note} = display ?? {};
  return [
    items?.length > 0 && listed(items),
    window && words.window(...spanTexts(window, now, locale)), note,
  ].filter(Boolean).join('\n');
}

/** The state of the task, and the status of the order while the rider waits for the vendor. */
export function statusText({kind, status}, task, words) {
  if (kind !== 'delivery' || !task || isOver(status)) return words.statuses[status];
  const isBeforePickup = RETURNABLE.includes(task) && !allowsTravel(status) && task !== status;
  return isBeforePickup ? `${words.taskStates[task]} · ${words.statuses[status]}` : words.taskStates[task];
}

export class TaskList {
  #cards = new Map();
  /** Runs while no step is accepted, because a button changed or moved under the thumb. */
  #pause = null;

  /**
   * @param {Element} list
   * @param {{verb: Function, undo: Function, travel: Function, why: Function, navigate: Function, dismiss: Function,
   *   say: (text: string) => void}} on
   */
  constructor(list, words, on) {
    Object.assign(this, {list, words, on});
  }

  /**
   * @param {object[]} jobs in order; `isNext` for those of the next stop; `{job, task, view, travel, canUndo, canWhy, isTimeUp,
   *   message, hint, busy, names, gone}`; see rider-jobs.js
   */
  show(jobs) {
    for (const [name, card] of this.#cards) {
      if (jobs.some(({job}) => job === name)) continue;
      card.final?.cancel();
      card.item.remove();
      this.#cards.delete(name);
    }
    for (const job of jobs) {
      if (!this.#cards.has(job.job)) this.#cards.set(job.job, this.#build(job.job));
      this.#fill(this.#cards.get(job.job), job);
    }
    // Moving a card would take the focus from it, so while the list has the focus only new cards are placed.
    const isHeld = this.list.contains(document.activeElement);
    let next = null;
    for (const item of jobs.map(({job}) => this.#cards.get(job).item).reverse()) {
      const isInPlace = item.isConnected && item.nextElementSibling === next;
      if (!isInPlace && !(isHeld && item.isConnected)) this.list.insertBefore(item, next);
      next = item;
    }
  }

  #build = (job) => {
    const {words} = this;
    const card = {
      kind: make('span', {class: 'kind'}), title: make('h3', {tabindex: '-1', id: `title-${job}`}),
      status: make('p', {class: 'quiet'}), place: make('p', {class: 'place', hidden: true}),
      note: make('p', {class: 'note', hidden: true}),
      contact: make('a', {class: 'button', rel: 'noreferrer noopener', hidden: true}),
      steps: make('div', {class: 'steps', role: 'img'}),
      main: make('div', {class: 'buttons'}), hint: make('p', {class: 'hint quiet', id: `hint-${job}`}),
      navigate: make('button', {type: 'button', class: 'navigate', id: `navigate-${job}`}),
      travel: make('button', {type: 'button', class: 'travel', id: `travel-${job}`}),
      message: make('p', {class: 'message', hidden: true}),
      undo: make('button', {type: 'button', class: 'undo', hidden: true}, words.undo),
      why: make('button', {type: 'button', class: 'plain'}, words.resume),
      other: make('button', {type: 'button', class: 'plain'}, words.otherMap),
      back: make('button', {type: 'button', class: 'plain'}), dismiss: make('button', {type: 'button'}, words.ok),
      drawn: '',
    };
    card.about = make('p', {class: 'about', hidden: true});
    card.navigate.innerHTML = `${PICTURES.way}<span></span>`;
    card.travel.innerHTML = `${PICTURES.pin}<span></span>`;
    card.two = make('div', {class: 'buttons two'}, card.travel, card.navigate);
    card.item = make('li', {class: 'card task', id: `task-${job}`, 'data-job': job, 'aria-labelledby': `title-${job}`},
      make('div', {class: 'task-head'}, card.kind, make('div', {}, card.title, card.status)),
      card.place, card.contact, card.note, card.steps, card.message, card.undo, card.main, card.hint, card.two,
      make('div', {class: 'quiet-buttons'}, card.why, card.other, card.back), card.dismiss);
    card.place.after(card.about);
    const to = () => headingFor(card.job);
    card.navigate.addEventListener('click', () => this.on.navigate(job, to()));
    card.other.addEventListener('click', () => this.on.navigate(job, to(), {again: true}));
    card.travel.addEventListener('click', () => {
      if (card.travel.getAttribute('aria-disabled') !== 'true') this.on.travel(job);
    });
    card.undo.addEventListener('click', () => {
      this.on.undo(job);
      card.next?.focus();
    });
    card.why.addEventListener('click', () => this.on.why(job));
    card.dismiss.addEventListener('click', () => this.on.dismiss(job));
    card.confirm = new ConfirmButton(card.back, words.returnConfirm, () => this.on.verb(job, card.returnStep), this.on.say);
    return card;
  };

  #fill = (card, job) => {
    const {words} = this;
    const {view, task} = job;
    const isClosed = Boolean(job.gone) || isOver(view.status);
    const state = {job: job.job, kind: view.kind, status: view.status, task, steps: view.steps};
    card.job = state;
    put(card.title, view.kind ? `${words[view.kind]} ${numberOf(job)}` : job.job);
    put(card.status, view.known ? statusText(view, task, words) : words.oneMoment);
    if (card.kind.dataset.kind !== (view.kind ?? '')) {
      card.kind.dataset.kind = view.kind ?? '';
      card.kind.innerHTML = PICTURES[view.kind] ?? '';
    }
    card.item.dataset.over = String(isClosed);
    put(card.place, isClosed ? '' : placeText(state, view));
    this.#contact(card, isClosed ? null : job, state);
    put(card.note, isClosed || !view.customerNote ? '' : words.customerNote(isolated(view.customerNote)));
    put(card.about, isClosed ? '' : aboutText(view, words));
    this.#segments(card, state, view.known && !isClosed);
    this.#verbs(card, job, state, isClosed);
    put(card.message, job.message ?? '');
    // A step that will be sent later is not a failure.
    card.message.classList.toggle('calm', job.canUndo || job.about === 'network');
    if (!job.canUndo && document.activeElement === card.undo) (card.next ?? card.title).focus();
    card.undo.hidden = !job.canUndo;
    put(card.hint, isClosed ? '' : job.hint ?? '');
    // While the final step can be undone, no other action is offered.
    this.#two(card, job, state, isClosed || !view.known || job.canUndo);
    card.dismiss.hidden = !isClosed;
  };

  /** The button that calls the recipient, while the rider is heading there. */
  #contact = (card, job, state) => {
    const {words} = this;
    const isOffered = job && headingFor(state) === 'destination';
    const link = isOffered ? contactLink(job.view.recipient?.contact, nameOf(job, 'destination', words), words) : null;
    put(card.contact, link?.text ?? '');
    if (link) card.contact.href = link.href;
  };

  #segments = (card, state, isShown) => {
    card.steps.hidden = !isShown;
    if (!isShown) return;
    const {count, at} = progress(state);
    const drawn = `${count} ${at}`;
    if (card.steps.dataset.drawn === drawn) return;
    card.steps.dataset.drawn = drawn;
    card.steps.setAttribute('aria-label', this.words.step(Math.min(at + 1, count), count));
    card.steps.replaceChildren(...Array.from({length: count}, (_, index) => make('span', {
      'data-state': index < at ? 'complete' : index === at ? 'active' : 'upcoming',
    })));
  };

  #verbs = (card, job, state, isClosed) => {
    const verbs = isClosed || !job.view.known ? [] : verbsOf(state);
    const main = verbs.find(({isMain}) => isMain);
    const other = verbs.find(({isMain}) => !isMain);
    card.returnStep = other;
    card.confirm.show(other ? this.words.verbs.cancelled : '');
    const waits = isWaitingForVendor(state) && main?.verb === 'picked_up';
    // Travel mode comes first while customers cannot see the rider, unless the next step starts it.
    const isSecond = job.travel === 'off' && allowsTravel(state.status) && !job.isTimeUp && !startsJourney(main?.verb);
    const names = {...this.words.verbs, ...(state.kind === 'service' && this.words.serviceVerbs)};
    const label = names[main?.verb] ?? '';
    if (card.drawn !== (main?.verb ?? '')) {
      const hadFocus = card.main.contains(document.activeElement);
      if (card.drawn) this.#pauseAll();
      card.drawn = main?.verb ?? '';
      card.final?.cancel();
      card.main.replaceChildren();
      card.final = null;
      if (main) {
        card.next = make('button', {type: 'button', class: 'next', 'data-verb': main.verb}, label);
        const take = () => this.on.verb(job.job, card.main.verb);
        if (isFinal(main.verb)) this.#hold(card, take);
        else {
          card.next.addEventListener('click', () => {
            if (card.next.getAttribute('aria-disabled') !== 'true') take();
          });
        }
        card.main.prepend(card.next);
      }
      if (hadFocus) (main ? card.next : card.title).focus();
    }
    card.main.verb = main;
    card.main.hidden = !main;
    card.isHeld = waits || Boolean(job.busy);
    if (!main) return;
    card.final?.show(job.busy === main.verb ? label : this.words.hold);
    // The page emphasizes only the action of the next stop.
    card.next.classList.toggle('primary', !isSecond && !waits && job.isNext !== false);
    card.next.toggleAttribute('aria-busy', false);
    if (job.busy === main.verb) card.next.setAttribute('aria-busy', 'true');
    this.#enable(card);
    if (waits) card.next.setAttribute('aria-describedby', card.hint.id);
    else card.next.removeAttribute('aria-describedby');
  };

  /** The final step is held, not tapped. A short tap says so. */
  #hold = (card, take) => {
    const {words} = this;
    const hint = make('p', {class: 'quiet', hidden: true});
    card.next.classList.add('hold');
    card.final = new HoldButton(card.next, words.holding, take, (isTooShort) => {
      put(hint, isTooShort ? words.holdHint : '');
      if (isTooShort) this.on.say(words.holdHint);
    });
    card.main.append(hint);
  };

  #enable = ({next, isHeld}) => {
    next?.setAttribute('aria-disabled', String(isHeld || this.#pause !== null));
  };

  /** Pauses all cards, because they may change places. */
  #pauseAll = () => {
    clearTimeout(this.#pause);
    this.#pause = setTimeout(() => {
      this.#pause = null;
      for (const card of this.#cards.values()) this.#enable(card);
    }, TAP_PAUSE);
    for (const card of this.#cards.values()) this.#enable(card);
  };

  #two = (card, job, state, isHidden) => {
    const {words} = this;
    card.two.hidden = isHidden;
    card.why.hidden = isHidden || !job.canWhy;
    card.other.hidden = isHidden;
    if (isHidden) return;
    const to = headingFor(state);
    put(card.navigate.lastChild, words.navigateTo(nameOf(job, to, words)));
    const mayTravel = allowsTravel(state.status) || job.travel !== 'off';
    card.travel.hidden = (state.kind === 'delivery' && !mayTravel) || (job.isTimeUp && job.travel === 'off');
    card.travel.dataset.state = job.travel;
    const isNext = job.isNext !== false && !startsJourney(card.main.verb?.verb);
    card.travel.classList.toggle('primary', job.travel === 'off' && mayTravel && isNext);
    put(card.travel.lastChild, {off: words.activate, starting: words.activating}[job.travel] ?? words.deactivate);
    card.travel.setAttribute('aria-disabled', String(!mayTravel || job.travel === 'starting'));
    if (!mayTravel) card.travel.setAttribute('aria-describedby', card.hint.id);
    else card.travel.removeAttribute('aria-describedby');
  };
}
