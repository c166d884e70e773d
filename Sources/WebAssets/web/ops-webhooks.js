// The card of the webhooks: how each endpoint of another system responds, and the events that it has not received. Services add
// and remove webhooks; operations staff can send a test, which switches an endpoint on again, and deliver events again.

import {locale, make} from './page.js';
import {timeText} from './page-times.js';
import {replace, shortAgo} from './ops-panels.js';

const EVENTS_SHOWN = 20;
const MINUTE = 60_000;

const number = new Intl.NumberFormat(locale);

/** To the minute, because a card that changes every second cannot be read. */
const ago = (at, now) => (now - at < MINUTE ? '< 1 min' : shortAgo(Math.floor((now - at) / MINUTE) * MINUTE));

/** @returns the state of an endpoint: `serving`, `failing` or `off` */
export const stateOf = ({state, failingSince, lastError}) => (
  state === 'off' ? 'off' : failingSince || lastError ? 'failing' : 'serving');

const MARKS = {serving: 'serving', failing: 'degraded', off: 'bad'};

export class WebhooksPanel {
  #webhooks = [];
  #open = null;               // the webhook whose undelivered events are shown
  #events = [];
  #outcomes = new Map();      // the result of the last test or replay, by webhook
  #busy = new Set();

  /** @param poller sends requests. `say(text)` announces a result, `show()` renders again. */
  constructor(panel, {words, poller, say, show}) {
    Object.assign(this, {panel, words, poller, say, show});
  }

  /** Requests the webhooks, and the undelivered events of the one that is open. */
  async ask(isCurrent) {
    const open = this.#open;
    const {webhooks} = await this.poller.get('webhooks');
    const events = webhooks.some(({id}) => id === open)
      ? (await this.poller.get(`webhooks/${open}/undelivered`)).events : [];
    if (!isCurrent()) return;
    this.#webhooks = webhooks;
    if (open === this.#open) this.#events = events;
  }

  render(now) {
    const {words} = this;
    const shown = this.#webhooks.map((webhook) => ({
      ...webhook, kind: stateOf(webhook), delivered: webhook.deliveredAt ? ago(webhook.deliveredAt, now) : '–',
      since: webhook.failingSince ? ago(webhook.failingSince, now) : null,
      outcome: this.#outcomes.get(webhook.id) ?? '', isBusy: this.#busy.has(webhook.id), isOpen: webhook.id === this.#open,
    }));
    replace(this.panel, [shown, this.#events], () => (shown.length === 0 ? [] : [
      make('div', {class: 'head'}, make('h2', {id: 'webhooks-title'}, words.webhooks)),
      make('ul', {class: 'gateways'}, ...shown.map((webhook) => this.#item(webhook))),
    ]));
  }

  #item = (webhook) => {
    const {words} = this;
    const {host, pathname} = new URL(webhook.url);
    const facts = [
      [words.lastDelivery, webhook.delivered],
      webhook.since && [words.failingFor, webhook.since],
      [words.waitingEvents, number.format(webhook.waiting)],
      [words.undelivered, number.format(webhook.undelivered)],
    ].filter(Boolean);
    const item = make('li', {},
      make('p', {class: 'head'}, make('b', {}, host + pathname),
        make('span', {'data-kind': MARKS[webhook.kind]}, words.webhookStates[webhook.kind])),
      make('dl', {class: 'facts'}, ...facts.flatMap(([name, value]) => [make('dt', {}, name), make('dd', {}, value)])));
    item.dataset.webhook = webhook.id;
    const problem = webhook.offReason ?? webhook.lastError;
    if (problem) item.append(make('p', {class: 'problem'}, problem));
    item.append(this.#actions(webhook));
    if (webhook.outcome) item.append(make('p', {class: 'quiet'}, webhook.outcome));
    if (webhook.isOpen && webhook.undelivered > 0) item.append(this.#list(webhook));
    return item;
  };

  #actions = (webhook) => {
    const {words} = this;
    const {host} = new URL(webhook.url);
    const button = (name, text, action, more = {}) => {
      const made = make('button', {
        // Not `disabled`, because that would remove the focus.
        type: 'button', class: 'plain', 'aria-label': `${text}: ${host}`,
        'aria-disabled': String(Boolean(webhook.isBusy)), ...more,
      }, text);
      made.dataset.place = `${name} ${webhook.id}`;
      made.dataset.action = name;
      made.addEventListener('click', action);
      return made;
    };
    const test = button('test', webhook.kind === 'off' ? words.switchOn : words.test, () => this.#test(webhook));
    if (webhook.undelivered === 0) return make('p', {class: 'actions'}, test);
    return make('p', {class: 'actions'}, test,
      button('replay', words.replay, () => this.#replay(webhook)),
      button('list', webhook.isOpen ? words.hideEvents : words.showEvents, () => this.#toggle(webhook),
        {'aria-expanded': String(webhook.isOpen)}));
  };

  #list = (webhook) => {
    const {words} = this;
    const events = this.#events.slice(0, EVENTS_SHOWN);
    const more = webhook.undelivered - events.length;
    return make('div', {},
      make('ol', {class: 'plainlist'}, ...events.map(({entry, subject, attempts, reason, body}) => make('li', {},
        make('time', {class: 'quiet'}, timeText(Number(entry.split('-')[0]), Date.now(), locale)),
        ` ${typeOf(body)} ${subject}: ${reason} (${words.attempts(number.format(attempts))})`))),
      more > 0 ? make('p', {class: 'quiet'}, words.more(number.format(more))) : '');
  };

  #toggle = (webhook) => {
    [this.#open, this.#events] = [this.#open === webhook.id ? null : webhook.id, []];
    this.#refresh();
  };

  #test = (webhook) => this.#act(webhook, 'test', ({delivered, milliseconds, reason}) => (
    delivered ? this.words.testAccepted(number.format(milliseconds)) : this.words.testRefused(reason ?? '')));

  #replay = (webhook) => this.#act(webhook, 'replay', ({replayed}) => this.words.replayed(number.format(replayed)));

  /** Sends a request, and shows its result beside the buttons. */
  #act = async ({id}, action, sentence) => {
    if (this.#busy.has(id)) return;
    this.#busy.add(id);
    this.show();
    const answer = await this.poller.post(`webhooks/${id}/${action}`).catch(() => null);
    this.#busy.delete(id);
    this.#outcomes.set(id, answer ? sentence(answer) : this.words.actionFailed);
    this.say(this.#outcomes.get(id));
    await this.#refresh();
  };

  #refresh = async () => {
    await this.ask(() => true).catch(() => {});
    this.show();
  };
}

/** The type of an event without the part that all have. @param body JSON of a CloudEvent */
export function typeOf(body) {
  try {
    return String(JSON.parse(body).type).replace(/^enroute\./, '');
  } catch {
    return '';
  }
}
