// The stops of a rider with several tasks: grouped pickups and their order.

import './page.mjs';
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {describedStops} from '../../Sources/WebAssets/web/rider-route.js';
import {AHEAD, StopOrder, isAhead, jobsInOrder, nearestFirst, stopsOf} from '../../Sources/WebAssets/web/rider-stops.js';
import {words} from '../../Sources/WebAssets/web/rider-words.js';

const at = (lat, lon = 12.5) => ({lat, lon});
const SHOP = at(41.900);
const delivery = (job, task, {destination = at(41.95), vendor = 'Da Gino', vendorAddress = 'Via Appia 1', place = SHOP, status = 'preparing',
  ...more} = {}) => ({
  job, task, places: {vendor: place}, gone: null,
  view: {known: true, kind: 'delivery', status: task === 'in_transit' ? 'in_transit' : status, destination, vendor, vendorAddress}, ...more,
});
const visit = (job, status, destination = at(41.93)) => ({
  job, task: null, places: {}, gone: null, view: {known: true, kind: 'service', status, destination, vendor: null, vendorAddress: null},
});
const ids = (stops) => stops.map(({id}) => id);

test('tasks of one vendor share a pickup, and each customer keeps a stop', () => {
  const stops = stopsOf([delivery('a', 'accepted'), delivery('b', 'arrived_at_store'), delivery('c', 'accepted', {vendor: 'Pizza', place: at(41.91)})]);
  assert.deepEqual(stops.filter(({kind}) => kind === 'pickup').map(({jobs}) => jobs.map(({job}) => job)), [['a', 'b'], ['c']]);
  assert.deepEqual(ids(stops).sort(), ['drop a', 'drop b', 'drop c', 'pickup a', 'pickup c']);
});

test('two names at one place share a pickup; one name at two places, or no name and no place, do not', () => {
  const pickups = (...jobs) => stopsOf(jobs).filter(({kind}) => kind === 'pickup').length;
  const near = {lat: SHOP.lat + 0.0002, lon: SHOP.lon};
  assert.equal(pickups(delivery('a', 'accepted'), delivery('b', 'accepted', {vendor: 'Kiosk', place: near})), 1);
  assert.equal(pickups(delivery('a', 'accepted'), delivery('b', 'accepted', {place: at(41.99)})), 2);
  assert.equal(pickups(delivery('a', 'accepted', {place: null}), delivery('b', 'accepted', {place: null})), 1);
  const unknown = {place: null, vendor: null, vendorAddress: null};
  assert.equal(pickups(delivery('a', 'accepted', unknown), delivery('b', 'accepted', unknown)), 2);
});

test('orders on board come first, then the pickups, then the rest, each time the nearest', () => {
  const stops = stopsOf([
    delivery('late', 'accepted', {destination: at(41.99)}), delivery('far', 'in_transit', {destination: at(41.80)}),
    delivery('near', 'picked_up', {destination: at(41.89)}), delivery('soon', 'accepted', {vendor: 'Pizza', place: at(41.81), destination: at(41.92)}),
  ]);
  assert.deepEqual(ids(nearestFirst(stops, at(41.88))), [
    'drop near', 'drop far', 'pickup soon', 'pickup late', 'drop soon', 'drop late',
  ]);
});

test('a visit comes before those that have not begun, and ended or unknown jobs have no stop', () => {
  const stops = nearestFirst(stopsOf([
    visit('later', 'assigned'), visit('now', 'on_the_way'), {...visit('gone', 'assigned'), gone: 'reassigned'},
    visit('done', 'completed'), {...visit('new', 'assigned'), view: {known: false}},
  ]));
  assert.deepEqual(ids(stops), ['visit now', 'visit later']);
});

const HOUR = 3_600_000;
const promised = (job, hours, destination, status = 'assigned') => {
  const planned = visit(job, status, destination);
  planned.view.display = {window: {from: hours * HOUR, until: (hours + 1) * HOUR}};
  return planned;
};

test('visits come in the order of their promised times, whatever is nearer', () => {
  const order = new StopOrder();
  const jobs = [promised('second', 2, at(41.90)), promised('tomorrow', 24, at(41.91)), promised('first', 1, at(41.99)),
    visit('whenever', 'assigned', at(41.80))];
  assert.deepEqual(ids(order.of(jobs, at(41.90), 0)), ['visit whenever', 'visit first', 'visit second', 'visit tomorrow']);
  // A promise that moves changes the order.
  jobs[0].view.display.window.from = HOUR / 2;
  assert.deepEqual(ids(order.of(jobs, at(41.90), 0)), ['visit whenever', 'visit second', 'visit first', 'visit tomorrow']);
});

test('a visit that starts hours later is not the next stop until shortly before, unless the rider is on the way', () => {
  const [early, late] = [AHEAD + 1, AHEAD].map((ahead) => stopsOf([promised('a', AHEAD / HOUR)], AHEAD - ahead)[0]);
  assert.deepEqual([isAhead(early), isAhead(late)], [true, false]);
  assert.equal(isAhead(stopsOf([promised('a', 24, undefined, 'on_the_way')], 0)[0]), false);
  const stops = nearestFirst(stopsOf([promised('tomorrow', 24), delivery('a', 'accepted')], 0));
  assert.deepEqual(ids(stops), ['pickup a', 'drop a', 'visit tomorrow']);
});

test('the order stays while the rider moves, and changes with the stops', () => {
  const order = new StopOrder();
  const jobs = [delivery('a', 'in_transit', {destination: at(41.80)}), delivery('b', 'in_transit', {destination: at(41.99)})];
  assert.deepEqual(ids(order.of(jobs, at(41.98))), ['drop b', 'drop a']);
  assert.deepEqual(ids(order.of(jobs, at(41.81))), ['drop b', 'drop a']);
  jobs.push(delivery('c', 'in_transit', {destination: at(41.82)}));
  assert.deepEqual(ids(order.of(jobs, at(41.805))), ['drop a', 'drop c', 'drop b']);
  // A stop that is done does not change the order of the others.
  assert.deepEqual(ids(order.of(jobs.slice(1), at(41.98))), ['drop c', 'drop b']);
});

test('an order that becomes ready where the rider is comes first and stays first; a shop on the way does not', () => {
  const order = new StopOrder();
  const onBoard = delivery('a', 'in_transit', {destination: at(41.91)});
  const preparing = delivery('b', 'accepted');
  const ready = delivery('b', 'accepted', {status: 'ready_for_pickup'});
  assert.deepEqual(ids(order.of([onBoard, preparing], SHOP)), ['drop a', 'pickup b', 'drop b']);
  assert.deepEqual(ids(order.of([onBoard, ready], SHOP)), ['pickup b', 'drop a', 'drop b']);
  assert.deepEqual(ids(order.of([onBoard, ready], at(41.91))), ['pickup b', 'drop a', 'drop b']);
  const riding = new StopOrder();
  assert.deepEqual(ids(riding.of([onBoard, ready], at(41.88))), ['drop a', 'pickup b', 'drop b']);
  assert.deepEqual(ids(riding.of([onBoard, ready], SHOP)), ['drop a', 'pickup b', 'drop b']);
});

test('the rider moves a stop to the front, but delivers nothing that is not on board', () => {
  const order = new StopOrder();
  const jobs = [delivery('a', 'in_transit', {destination: at(41.80)}), delivery('b', 'accepted')];
  assert.deepEqual(ids(order.of(jobs)), ['drop a', 'pickup b', 'drop b']);
  order.first('pickup b');
  assert.deepEqual(ids(order.of(jobs)), ['pickup b', 'drop a', 'drop b']);
  assert.deepEqual(jobsInOrder(order.of(jobs)), ['b', 'a']);
  order.first('drop b');
  assert.deepEqual(ids(order.of(jobs)), ['drop a', 'pickup b', 'drop b']);
});

test('stops show the order numbers that people know, and the recipient of a delivery', () => {
  const job = delivery('a', 'accepted');
  Object.assign(job.view, {display: {orderNumber: 'A-1042'}, recipient: {name: 'Anna', address: 'Via Nomentana 3', floor: '3rd floor'}});
  const [pick, drop] = describedStops(new StopOrder().of([job]), words.en);
  assert.deepEqual([pick.detail, drop.title, drop.detail], ['Via Appia 1 · A-1042', 'Deliver A-1042', 'Anna · Via Nomentana 3']);
});

test('one tap confirms the arrival for all tasks of a pickup, and picks up those that are ready', () => {
  const described = (jobs) => describedStops(new StopOrder().of(jobs), words.en);
  const [arrive] = described([delivery('a', 'accepted'), delivery('b', 'accepted')]);
  assert.equal(arrive.title, 'Pick up at Da Gino');
  assert.equal(arrive.detail, 'Via Appia 1 · a, b');
  assert.deepEqual([arrive.action.text, arrive.action.jobs.map(({job}) => job)], ['Arrived at store · 2 tasks', ['a', 'b']]);
  const ready = {status: 'ready_for_pickup'};
  const [pick] = described([
    delivery('a', 'arrived_at_store', ready), delivery('b', 'arrived_at_store'), delivery('c', 'arrived_at_store', ready)]);
  assert.deepEqual([pick.action.verb, pick.action.jobs.map(({job}) => job), pick.action.isHeld], ['picked_up', ['a', 'c'], false]);
  const [waits] = described([delivery('a', 'arrived_at_store'), delivery('b', 'arrived_at_store')]);
  assert.equal(waits.action.isHeld, true);
  const one = delivery('b', 'arrived_at_store', ready);
  one.view.display = {orderNumber: 'A-7'};
  const [numbered] = described([delivery('a', 'arrived_at_store'), one]);
  assert.equal(numbered.action.text, 'Picked up · A-7');
  // A single task has its own button.
  assert.equal(described([delivery('a', 'accepted')])[0].action, null);
});
