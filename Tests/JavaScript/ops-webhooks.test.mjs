// The card of the webhooks: states of endpoints, and the requests of its buttons.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {settled} from './clock.mjs';
import {Place} from './page.mjs';

const {WebhooksPanel, stateOf, typeOf} = await import('../../Sources/WebAssets/web/ops-webhooks.js');
const {words} = await import('../../Sources/WebAssets/web/ops-words.js');

const webhook = {
  id: 'wh_1', url: 'https://shop.example/hooks', types: [], state: 'on', createdAt: 1, waiting: 0, undelivered: 0,
};

/** A panel with one webhook whose requests are recorded. */
async function panel(more, answers = {}) {
  const asked = [], said = [];
  const poller = {
    get: async (path) => {
      asked.push(path);
      return path === 'webhooks' ? {webhooks: [{...webhook, ...more}]} : {events: answers.events ?? []};
    },
    post: async (path) => {
      asked.push(path);
      if (!answers[path]) throw new Error('status 503');
      return answers[path];
    },
  };
  const place = new Place();
  const shown = new WebhooksPanel(place, {
    words: words.en, poller, say: (text) => said.push(text), show: () => shown.render(10_000),
  });
  await shown.ask(() => true);
  shown.render(10_000);
  const press = async (action) => {
    place.querySelectorAll('button').find(({dataset}) => dataset.action === action).happens('click');
    await settled();
  };
  return {place, asked, said, press, shown};
}

test('an endpoint accepts events, fails, or is switched off', () => {
  assert.equal(stateOf(webhook), 'serving');
  assert.equal(stateOf({...webhook, lastError: 'status 500'}), 'failing');
  assert.equal(stateOf({...webhook, failingSince: 1}), 'failing');
  assert.equal(stateOf({...webhook, state: 'off', lastError: 'status 410'}), 'off');
});

test('the type of an event is shown without the common prefix, even if the body is malformed', () => {
  assert.equal(typeOf('{"type":"enroute.job.closed"}'), 'job.closed');
  assert.equal(typeOf('{'), '');
});

test('without webhooks there is no card', async () => {
  const place = new Place();
  const empty = new WebhooksPanel(place, {
    words: words.en, poller: {get: async () => ({webhooks: []})}, say() {}, show() {},
  });
  await empty.ask(() => true);
  empty.render(0);
  assert.deepEqual(place.children, []);
});

test('a test is sent, and its result shown and announced', async () => {
  const {place, asked, said, press} = await panel({}, {'webhooks/wh_1/test': {delivered: true, milliseconds: 35}});
  await press('test');
  assert.deepEqual(asked, ['webhooks', 'webhooks/wh_1/test', 'webhooks']);
  assert.deepEqual(said, ['The endpoint accepted the test in 35 ms.']);
  assert.match(place.textContent, /accepted the test in 35 ms/);
});

test('a failed request is shown as failed', async () => {
  const {said, press} = await panel({});
  await press('test');
  assert.deepEqual(said, [words.en.actionFailed]);
});

test('undelivered events are listed on request and delivered again', async () => {
  const events = [{entry: '5000-0', id: 'e', subject: 'job-7', attempts: 8, reason: 'status 500',
    body: '{"type":"enroute.job.closed"}'}];
  const {place, asked, press} = await panel({undelivered: 3}, {events, 'webhooks/wh_1/replay': {replayed: 3}});
  assert.doesNotMatch(place.textContent, /job-7/);
  await press('list');
  assert.match(place.textContent, /job\.closed job-7: status 500 \(8 attempts\)/);
  assert.match(place.textContent, /and 2 more/);
  await press('replay');
  assert.equal(asked.at(-3), 'webhooks/wh_1/replay');
  assert.match(place.textContent, /3 events will be delivered again/);
});

test('every language has the same texts', () => {
  assert.deepEqual(Object.keys(words.de), Object.keys(words.en));
});
