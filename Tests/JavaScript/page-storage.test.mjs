// Pages work in browsers that deny storage.

import assert from 'node:assert/strict';
import {test} from 'node:test';

const {deviceStorage, tabStorage} = await import('../../Sources/WebAssets/web/page-storage.js');

function define(t, name, property) {
  const before = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, {configurable: true, ...property});
  t.after(() => (before ? Object.defineProperty(globalThis, name, before) : delete globalThis[name]));
}

test('if the browser denies storage, values last as long as the page', (t) => {
  for (const [name, storage, other] of [['sessionStorage', tabStorage, deviceStorage], ['localStorage', deviceStorage, tabStorage]]) {
    define(t, name, {get() { throw new DOMException('Access is denied for this document.', 'SecurityError'); }});
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
