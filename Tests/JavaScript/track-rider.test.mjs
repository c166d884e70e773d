// The rider's card: what the panel shows, and which photos a page may load.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Place} from './page.mjs';

const {RiderPanel, isAllowed} = await import('../../Sources/WebAssets/web/track-rider.js');

const ORIGINS = 'https://a.example https://b.example:8443';
const ROSA = {
  name: 'Rosa <b>', role: 'Your rider', vehicle: 'Car · AB 1', photo: 'https://a.example/r.png',
  contact: {href: 'tel:+390612345', text: 'Call Rosa'},
};

test('a photo is loaded only from an origin that the operator configured', () => {
  for (const photo of ['https://a.example/x.png', 'https://a.example:443/x', 'https://b.example:8443/y?z']) {
    assert.equal(isAllowed(photo, ORIGINS), true, photo);
  }
  for (const photo of [
    'https://b.example/y', 'https://a.example.evil.example/', 'http://a.example/', 'https://a.example@evil.example/',
    'javascript:alert(1)', 'x', '', 'data:image/png;base64,AA',
  ]) {
    assert.equal(isAllowed(photo, ORIGINS), false, photo);
  }
  assert.equal(isAllowed('https://a.example/x', ''), false);
});

test('the panel shows text, a photo and a link, and is empty when nobody comes', () => {
  const place = new Place();
  const panel = new RiderPanel(place, {origins: ORIGINS});
  assert.equal(place.hidden, true);
  panel.show(ROSA);
  assert.deepEqual([place.hidden, place.querySelector('h2').textContent], [false, 'Rosa <b>']);
  assert.equal(place.querySelector('a').getAttribute('href'), 'tel:+390612345');
  const image = place.querySelector('img');
  assert.deepEqual(['src', 'alt', 'referrerpolicy'].map((name) => image.getAttribute(name)), [ROSA.photo, '', 'no-referrer']);
  panel.show({...ROSA});
  assert.equal(place.querySelector('img'), image, 'an unchanged panel is not rendered again');
  panel.show({...ROSA, photo: 'https://elsewhere.example/r.png', contact: null});
  assert.deepEqual([place.querySelector('img'), place.querySelector('a')], [null, null]);
  panel.show(null);
  assert.deepEqual([place.hidden, place.textContent], [true, '']);
});
