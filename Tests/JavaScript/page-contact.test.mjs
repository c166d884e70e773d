// How pages offer to contact somebody.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {contactLink} from '../../Sources/WebAssets/web/page-contact.js';
import {words} from '../../Sources/WebAssets/web/rider-words.js';

test('a telephone number is called and an https address is opened; nothing else is a link', () => {
  const link = (contact) => contactLink(contact, 'Anna', words.en);
  assert.deepEqual(link('tel:+390612345,17'), {href: 'tel:+390612345,17', text: 'Call Anna'});
  assert.deepEqual(link('https://chat.example/17'), {href: 'https://chat.example/17', text: 'Contact Anna'});
  for (const other of [undefined, null, '', 'javascript:alert(1)', 'http://x', ' tel:1', 'Tel:112']) {
    assert.equal(link(other), null, String(other));
  }
});
