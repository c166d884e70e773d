// The offer of a message when the rider is near, with a browser's interfaces as values.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {settled} from './clock.mjs';
import {ownClock} from './page.mjs';

const {NearMessage} = await import('../../Sources/WebAssets/web/track-push.js');
const {words: allWords} = await import('../../Sources/WebAssets/web/track-words.js');

const words = allWords.en;
const COMING = {known: true, kind: 'delivery', ended: null, refused: null};

function made({permission = 'granted', status = 200, key = 'BCVx', kept, isSubscribed = Boolean(kept), ...rest} = {}) {
  const attributes = new Map();
  const button = {
    hidden: true, textContent: '', setAttribute: (name, value) => attributes.set(name, value),
    addEventListener(_, act) { this.press = act; },
  };
  const result = {hidden: true, textContent: ''};
  const log = {said: [], sent: [], posted: [], subscribed: []};
  const subscription = {toJSON: () => ({endpoint: 'https://push.example/1', keys: {p256dh: 'k', auth: 'a'}, expirationTime: null})};
  const worker = {
    active: {postMessage: (message) => log.posted.push(message)},
    pushManager: {
      getSubscription: async () => (isSubscribed ? subscription : null),
      subscribe: async (options) => { log.subscribed.push(options); return subscription; },
    },
  };
  const system = {
    isSecureContext: true, PushManager: class {}, location: {href: 'https://a.example/track/job-1#secret'},
    Notification: {
      permission: kept ? 'granted' : 'default',
      async requestPermission() { return this.permission = permission; },
    },
    navigator: {serviceWorker: {ready: Promise.resolve(worker)}}, caches: {match: async () => kept}, ...rest,
  };
  const near = new NearMessage(button, {
    words: {...words, signInExpired: 'Sign in again.'}, job: 'job-1', key,
    header: () => 'Link secret', say: (text) => log.said.push(text), system, result,
    request: async (...request) => { log.sent.push(request); return status; },
  });
  return {near, button, log, system, attributes, result};
}

test('a browser that can receive messages is offered one, until it is too late or the job has ended', () => {
  const {near, button} = made();
  near.show(COMING, null);
  assert.deepEqual([button.hidden, button.textContent], [false, words.tellOn]);
  near.show(COMING, 179);
  assert.equal(button.hidden, true);
  near.show({...COMING, ended: 'completed'}, null);
  assert.equal(button.hidden, true);
  near.show({...COMING, known: false}, null);
  assert.equal(button.hidden, true);
});

test('nothing is offered without a key, a secure context or the browser\'s interfaces, or after a refusal', () => {
  for (const lacks of [{key: ''}, {isSecureContext: false}, {PushManager: undefined}, {Notification: undefined}]) {
    const {near, button} = made(lacks);
    near.show(COMING, null);
    assert.equal(button.hidden, true, JSON.stringify(Object.keys(lacks)));
  }
  const {near, button, system} = made();
  system.Notification.permission = 'denied';
  near.show(COMING, null);
  assert.equal(button.hidden, true);
});

test('switching it on subscribes, notifies the gateway, and passes the text and the URL to the worker', async (run) => {
  ownClock(run);
  const {near, button, log, attributes} = made();
  near.show(COMING, null);
  await button.press();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(log.subscribed[0].userVisibleOnly, true);
  assert.deepEqual([...log.subscribed[0].applicationServerKey], [4, 37, 113]);
  const [method, path, body, header] = log.sent[0];
  assert.deepEqual([path, method, header], ['jobs/job-1/push', 'PUT', 'Link secret']);
  assert.deepEqual(body, {
    subscription: {endpoint: 'https://push.example/1', keys: {p256dh: 'k', auth: 'a'}}, near: true,
  });
  assert.deepEqual(log.posted, [{
    type: 'near', job: 'job-1', title: words.tellTitle, body: words.tellBody.delivery,
    url: 'https://a.example/track/job-1#secret',
  }]);
  assert.deepEqual([log.said, button.textContent, attributes.get('aria-pressed')], [[words.tellIsOn], words.tellOff, 'true']);
  await button.press();
  assert.equal(log.sent[1][2].near, false);
  assert.equal(log.posted[1].url, null);
  assert.equal(button.textContent, words.tellOn);
});

test('a refused or dismissed question and a failure are shown and announced, and change nothing', async (run) => {
  ownClock(run);
  for (const [permission, text] of [['denied', words.tellDenied], ['default', words.tellDismissed]]) {
    const refused = made({permission});
    refused.near.show(COMING, null);
    await refused.button.press();
    assert.deepEqual([refused.log.said, refused.log.sent], [[text], []]);
    assert.deepEqual([refused.result.hidden, refused.result.textContent], [false, text]);
  }
  for (const status of [0, 429, 503]) {
    const failed = made({status});
    failed.near.show(COMING, null);
    await failed.button.press();
    assert.deepEqual([failed.log.said, failed.log.posted, failed.button.textContent], [[words.tellFailed], [], words.tellOn]);
    assert.equal(failed.result.textContent, words.tellFailed);
  }
});

test('an expired session is the reason why switching failed', async (run) => {
  ownClock(run);
  const {near, button, result} = made({status: 401});
  near.show(COMING, null);
  await button.press();
  assert.equal(result.textContent, 'Sign in again.');
});

test('a message is not promised after its permission was withdrawn, and is offered again with the permission', async (run) => {
  ownClock(run);
  for (const permission of ['denied', 'default']) {
    const {near, button, result, system, attributes} = made();
    near.show(COMING, null);
    await button.press();
    near.show(COMING, null);
    assert.deepEqual([button.textContent, result.textContent], [words.tellOff, words.tellIsOn]);
    system.Notification.permission = permission;
    near.show(COMING, null);
    assert.deepEqual([button.hidden, result.textContent, result.hidden], [permission === 'denied', '', true]);
    system.Notification.permission = 'granted';
    near.show(COMING, null);
    assert.deepEqual([button.hidden, button.textContent, attributes.get('aria-pressed')], [false, words.tellOn, 'false']);
  }
});

test('a page that is opened again without a subscription offers a message again', async () => {
  const {near, button, log} = made({kept: new Response('{}'), isSubscribed: false});
  await settled();
  near.show(COMING, null);
  await settled();
  assert.deepEqual([button.textContent, log.posted], [words.tellOn, []]);
});

test('without a service worker a press fails after 10 s, and the button works again', async (run) => {
  const clock = ownClock(run);
  const {near, button, log, attributes, result} = made({navigator: {serviceWorker: {ready: new Promise(() => {})}}});
  near.show(COMING, null);
  for (const presses of [1, 2]) {
    button.press();
    await settled();
    assert.deepEqual([attributes.get('aria-busy'), result.hidden], ['true', true]);
    await clock.pass(10_000);
    assert.deepEqual([attributes.get('aria-busy'), result.textContent, log.said.length], ['false', words.tellFailed, presses]);
  }
  near.show({...COMING, ended: 'completed'}, null);
  assert.equal(result.hidden, true);
});

test('a page that is opened again, perhaps in another language, passes its texts to the worker', async () => {
  const {near, button, log} = made({kept: new Response('{}')});
  await settled();
  near.show({...COMING, known: false}, null);
  near.show({...COMING, kind: 'service'}, null);
  near.show({...COMING, kind: 'service'}, null);
  await settled();
  assert.equal(button.textContent, words.tellOff);
  assert.deepEqual(log.posted, [{
    type: 'near', job: 'job-1', title: words.tellTitle, body: words.tellBody.service, url: 'https://a.example/track/job-1#secret',
  }]);
});
