// Pages work in browsers that deny storage, and stay signed in when they load in another language.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place} from './page.mjs';

const {deviceStorage, tabStorage} = await import('../../Sources/WebAssets/web/page-storage.js');
const {languageSwitch} = await import('../../Sources/WebAssets/web/page.js');

function define(t, name, property) {
  const before = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, {configurable: true, ...property});
  t.after(() => (before ? Object.defineProperty(globalThis, name, before) : delete globalThis[name]));
}

const denied = {get() { throw new DOMException('Access is denied for this document.', 'SecurityError'); }};

test('if the browser denies storage, values last as long as the page', (t) => {
  for (const [name, storage, other] of [['sessionStorage', tabStorage, deviceStorage], ['localStorage', deviceStorage, tabStorage]]) {
    define(t, name, denied);
    assert.equal(storage().getItem('a'), null);
    storage().setItem('a', 1);
    assert.equal(storage().getItem('a'), '1');
    assert.equal(other().getItem('a'), null);
    storage().removeItem('a');
    assert.equal(storage().getItem('a'), null);
  }
});

test('the browser\u2019s storage is used if there is one', (t) => {
  const own = {getItem: () => 'kept'};
  define(t, 'sessionStorage', {value: own});
  assert.equal(tabStorage(), own);
});

/** Clicks on the language switch. @returns what the browser's history holds for the page that it loads */
function changeLanguage() {
  const button = new Place();
  languageSwitch(button);
  button.happens('click');
  return structuredClone(history.state);
}

test('without storage, the page in another language gets the values of the tab, and the history does not keep them', async (t) => {
  define(t, 'sessionStorage', denied);
  tabStorage().setItem('a', 1);
  const loads = location.loads;
  assert.deepEqual(changeLanguage(), {a: '1'});
  assert.deepEqual([location.loads, String(history.address)], [loads + 1, 'https://enroute.example/rider?lang=de']);
  tabStorage().removeItem('a');
  history.state = {a: '1'};
  await import('../../Sources/WebAssets/web/page.js?in-german');
  assert.deepEqual([tabStorage().getItem('a'), history.state], ['1', null]);
  tabStorage().removeItem('a');
});

test('a browser with storage puts nothing into its history', (t) => {
  define(t, 'sessionStorage', {value: {getItem: () => 'kept'}});
  assert.deepEqual(changeLanguage(), {});
});
