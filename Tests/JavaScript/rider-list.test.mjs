// The texts of a task's card about its state.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import './page.mjs';

const {aboutText, placeText, statusText} = await import('../../Sources/WebAssets/web/rider-list.js');
const {words} = await import('../../Sources/WebAssets/web/rider-words.js');

test('D30: a card shows one state, and two only while the rider waits for the vendor', () => {
  const said = (status, task) => statusText({kind: 'delivery', status}, task, words.en);
  assert.deepEqual([said('in_transit', 'in_transit'), said('in_transit', 'accepted'), said('in_transit', null)],
    ['In transit', 'Accepted', 'In transit']);
  assert.equal(said('preparing', 'accepted'), 'Accepted · Being prepared');
  assert.equal(said('accepted', 'accepted'), 'Accepted');
  assert.equal(said('accepted', 'arrived_at_store'), 'At the store · Accepted by the vendor');
  assert.equal(said('delivered', 'in_transit'), 'Delivered');
});

test('a card shows the next destination: the vendor, then the recipient', () => {
  const view = {
    vendor: 'Da Gino', vendorAddress: 'Via Appia 1', recipient: {name: 'Anna', address: 'Via Nomentana 3', floor: '3rd floor'},
  };
  const place = (state, of = view) => placeText({kind: 'delivery', status: 'in_transit', ...state}, of);
  assert.equal(place({status: 'accepted', task: 'accepted'}), 'Da Gino, Via Appia 1');
  assert.equal(place({task: 'in_transit'}), 'Anna, Via Nomentana 3, 3rd floor');
  assert.equal(place({kind: 'service', status: 'on_the_way'}), 'Anna, Via Nomentana 3, 3rd floor');
  assert.equal(place({task: 'in_transit'}, {vendor: 'Da Gino', recipient: null}), '');
});

test('a card shows the day of a visit that is not today', () => {
  const at = (day, hour) => new Date(2026, 10, day, hour).getTime();
  const said = (now) => aboutText({display: {window: {from: at(21, 8), until: at(21, 10)}}}, words.en, now).replace(/\s/g, ' ');
  assert.equal(said(at(21, 6)), 'Expected 8:00 AM – 10:00 AM');
  assert.equal(said(at(20, 15)), 'Expected Nov 21, 8:00 AM – 10:00 AM');
});

test('a card names the time zones of a promised time if the clocks change during it', (run) => {
  const before = process.env.TZ;
  process.env.TZ = 'America/New_York';
  run.after(() => { if (before === undefined) delete process.env.TZ; else process.env.TZ = before; });
  const from = Date.parse('2026-11-01T05:30:00Z');
  const window = {from, until: from + 45 * 60_000};
  assert.equal(aboutText({display: {window}}, words.en, from).replace(/\s/g, ' '), 'Expected 1:30 AM EDT – 1:15 AM EST');
});

test('right-to-left items and addresses do not change the order of the others', () => {
  const items = ['2 × فلافل', '1 water', '3 cola'];
  assert.equal(aboutText({display: {items}}, words.en), '\u20682 × فلافل\u2069, 1 water, 3 cola');
  const view = {vendor: 'פלאפל', vendorAddress: 'Via Appia 1'};
  assert.equal(placeText({kind: 'delivery', status: 'accepted', task: 'accepted'}, view), '\u2068פלאפל\u2069, Via Appia 1');
});
