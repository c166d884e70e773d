// Signing in with a code: on a phone with a wrong clock, over a network that fails, and signing out.

import assert from 'node:assert/strict';
import {beforeEach, test} from 'node:test';

import {settled} from './clock.mjs';
import {Place, browser, device, ownClock} from './page.mjs';

const {SignIn} = await import('../../Sources/WebAssets/web/page-sign-in.js');
const {ConnectionBanner, shared} = await import('../../Sources/WebAssets/web/page.js');
const CODE = '0123456789abcdef0123456789abcdef';
const HOUR = 3_600_000;

beforeEach(() => {
  sessionStorage.clear();
  location.hash = '';
  location.loads = 0;
  device.serviceWorker.told.length = 0;
});

const signedOut = () => new SignIn({panel: Object.assign(new Place(), {children: ['made'], hidden: true})});
const fetched = (run, answer) => run.mock.method(globalThis, 'fetch', answer);
/** The server's response at its own time. */
const token = (serverTime, person = 'anna') => {
  const body = {token: `of-${person}`, role: 'rider', person, expiresAt: serverTime + HOUR};
  return async () => Response.json(body, {headers: {Date: new Date(serverTime).toUTCString()}});
};
/** A panel without its parts, which these tests do not check. */
const waiting = (signIn) => {
  Object.assign(signIn, {problem: new Place()});
  return signIn.credential();
};

for (const hours of [-5, 0, 5]) {
  test(`a phone whose clock is ${hours} hours off stays signed in, even when the clock is corrected`, async (run) => {
    const clock = run.mock.method(Date, 'now', () => 1_800_000_000_000);
    fetched(run, token(1_800_000_000_000 - hours * HOUR));
    const signIn = signedOut();
    const credential = waiting(signIn);
    await settled();
    assert.equal(await signIn.redeem(CODE), true);
    assert.deepEqual(await credential, {token: 'of-anna'});
    assert.equal(signIn.session?.person, 'anna');
    clock.mock.mockImplementation(() => 1_800_000_000_000 + 5 * HOUR);
    assert.deepEqual([signIn.session?.person, signIn.header], ['anna', 'Bearer of-anna']);
    assert.deepEqual(await signIn.credential(), {token: 'of-anna'});
    signIn.forget('Your session has expired.', {isExpired: true});
    assert.equal(signIn.header, null);
  });
}

test('after a broken response the panel stays and the code can be sent again', async (run) => {
  const cut = () => new ReadableStream({start(body) { body.error(new Error('cut')); }});
  fetched(run, async () => new Response(cut()));
  assert.equal(await signedOut().redeem(CODE), false);
  fetched(run, async () => new Response('not JSON'));
  assert.equal(await signedOut().redeem(CODE), false);
});

test('a request to a server that never responds is given up', async (run) => {
  const clock = ownClock(run);
  fetched(run, (_, {signal}) => new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason));
  }));
  let isIn;
  signedOut().redeem(CODE).then((was) => { isIn = was; });
  await clock.pass(60_000);
  assert.equal(isIn, false);
});

test('signing out or in as another person deletes the states in the service worker', async (run) => {
  const now = Date.now();
  const {told} = device.serviceWorker;
  fetched(run, token(now));
  const signIn = signedOut();
  await signIn.redeem(CODE);
  await signIn.redeem(CODE);
  assert.deepEqual(told, []);
  fetched(run, token(now, 'ben'));
  await signIn.redeem(CODE);
  assert.deepEqual(told, [{type: 'forget'}]);
  signIn.forget('', {isExpired: true});
  assert.equal(told.length, 1);
  signIn.forget();
  assert.deepEqual([told.length, signIn.session], [2, null]);
});

test('an expired session is explained at once and once, until somebody signs in again', async (run) => {
  fetched(run, token(Date.now()));
  const said = [];
  const banner = new ConnectionBanner(new Place(), {say: (text) => said.push(text)});
  const signIn = new SignIn({panel: new Place(), explain: (text) => banner.explain(text)});
  for (const times of [1, 2]) {
    await signIn.redeem(CODE);
    assert.deepEqual([banner.element.textContent, banner.element.hidden, banner.notice], ['', true, '']);
    signIn.forget(shared.signInExpired, {isExpired: true});
    assert.deepEqual([banner.element.textContent, said.length], [shared.signInExpired, times]);
    assert.equal(banner.notice, shared.signInExpired, 'the title of the tab does not say so');
    signIn.credential();
    await settled();
    assert.equal(signIn.problem.textContent, shared.signInExpired);
    assert.equal(signIn.problem.getAttribute('role'), null, 'the panel announces it a second time');
  }
});

test('a rejected code is announced by the panel, and signing out needs no explanation', async (run) => {
  fetched(run, async () => new Response('', {status: 404}));
  const explained = [];
  const signIn = new SignIn({panel: new Place(), explain: (text) => explained.push(text)});
  signIn.forget();
  signIn.credential();
  await settled();
  const [form] = signIn.panel.querySelectorAll('form');
  form.querySelector('input').value = CODE;
  form.happens('submit', {preventDefault() {}});
  await settled();
  assert.equal(signIn.problem.textContent, shared.signInRefused);
  assert.equal(signIn.problem.getAttribute('role'), 'alert');
  assert.deepEqual(explained, []);
});

test('an address that ends in an incomplete % escape contains no code', () => {
  location.hash = '#100%';
  assert.equal(signedOut().current, null);
});

test('navigation within the page does not reload it, a new code does', () => {
  signedOut();
  location.hash = '#tasks';
  browser.happens('hashchange');
  assert.equal(location.loads, 0);
  location.hash = `#in.${CODE}`;
  browser.happens('hashchange');
  assert.ok(location.loads > 0);
});

test('D28: the panel is the page\u2019s first heading, unless the page has one', async () => {
  for (const [heading, more] of [['h1', {}], ['h2', {heading: 'h2'}]]) {
    const panel = new Place();
    new SignIn({panel, why: 'Sign in to see it', ...more}).credential();
    await settled();
    assert.equal(panel.querySelector(heading)?.textContent, 'Sign in to see it');
  }
});
