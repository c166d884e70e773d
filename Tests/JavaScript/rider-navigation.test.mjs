// The route that is loaded before the tap: once per version of a job, and what a tap does after a failure.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {settled} from './clock.mjs';
import {Place} from './page.mjs';

const {Navigation} = await import('../../Sources/WebAssets/web/rider-navigation.js');

const words = {badVendorAddress: 'bad address', navigateNetwork: 'no network', noMapApp: 'no app'};
const refusal = (code) => Object.assign(new Error(code), {code});
const way = (name) => ({body: {...(name && {name}), candidates: []}});

/** A rider's navigation, with the test acting as the gateway: `answer` is its response about the route. */
function rider() {
  const world = {asked: 0, named: [], answer: async () => way('Da Remo')};
  world.navigation = new Navigation(new Place(), words, () => { world.asked += 1; return world.answer(); }, {
    handedOff() {}, locates: async () => true, servicesOff() {}, named: (job, to, name) => world.named.push(name),
  });
  world.prepare = (version) => world.navigation.prepare('one', 'vendor', version);
  world.taps = () => world.navigation.navigate('one', 'vendor');
  return world;
}

test('a route is loaded once per version, and the newest name is shown', async () => {
  const world = rider();
  for (const version of [1, 1, 2, 2]) await world.prepare(version);
  assert.equal(world.asked, 2);
  world.answer = async () => way();
  await world.prepare(3);
  assert.deepEqual(world.named, ['Da Remo', 'Da Remo', null]);
});

test('an outdated response does not set a name', async () => {
  const world = rider();
  const answers = [];
  world.answer = () => new Promise((resolve) => { answers.push(resolve); });
  const both = [world.prepare(1), world.prepare(2)];
  answers[1](way('new'));
  answers[0](way('old'));
  await Promise.all(both);
  assert.deepEqual(world.named, ['new']);
});

test('a missing route is requested again only by a tap or for another version of the job', async () => {
  const world = rider();
  world.answer = async () => { throw refusal('destination_unresolvable'); };
  for (let change = 0; change < 5; change += 1) await world.prepare(1);
  assert.equal(world.asked, 1);
  assert.deepEqual([await world.taps(), await world.taps(), world.asked], ['bad address', 'bad address', 3]);
  world.answer = async () => way('Da Remo');
  assert.deepEqual([await world.taps(), world.asked], ['no app', 4]);
  await world.prepare(1);
  assert.deepEqual([await world.taps(), world.asked], ['no app', 4]);
  await world.prepare(2);
  assert.equal(world.asked, 5);
});

test('a tap while the route is loading does not request it again', async () => {
  const world = rider();
  let refuse;
  world.answer = () => new Promise((_, reject) => { refuse = reject; });
  world.prepare(1);
  const tap = world.taps();
  await settled();
  refuse(refusal('network'));
  assert.deepEqual([await tap, world.asked], ['no network', 1]);
});
