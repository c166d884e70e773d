// The rider's next steps for every kind, status and task state.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {allowsTravel, headingFor, inOrder, isOver, isWaitingForVendor, verbsOf}
  from '../../Sources/WebAssets/web/rider-tasks.js';

const verbs = (job) => verbsOf(job).map(({verb}) => verb);
const DELIVERY = ['pending_vendor_acceptance', 'accepted', 'preparing', 'ready_for_pickup', 'in_transit', 'delivered',
  'cancelled', 'allocation_failed'];
const SERVICE = ['assigned', 'on_the_way', 'work_in_progress', 'completed', 'cancelled'];

test('a delivery goes from the store to the door, one step at a time', () => {
  const status = 'ready_for_pickup';
  assert.deepEqual(verbs({kind: 'delivery', status, task: 'accepted'}), ['arrived_at_store', 'cancelled']);
  assert.deepEqual(verbs({kind: 'delivery', status, task: 'arrived_at_store'}), ['picked_up', 'cancelled']);
  assert.deepEqual(verbs({kind: 'delivery', status: 'in_transit', task: 'picked_up'}), ['in_transit']);
  assert.deepEqual(verbs({kind: 'delivery', status: 'in_transit', task: 'in_transit'}), ['completed']);
});

test('a visit has no store', () => {
  assert.deepEqual(verbs({kind: 'service', status: 'assigned', task: 'accepted'}), ['in_transit', 'cancelled']);
  assert.deepEqual(verbs({kind: 'service', status: 'on_the_way', task: 'in_transit'}), ['work_in_progress']);
  assert.deepEqual(verbs({kind: 'service', status: 'work_in_progress', task: 'in_transit'}), ['completed']);
});

test('a rider without a zone changes the status directly', () => {
  for (const [kind, status, verb] of [
    ['service', 'assigned', 'on_the_way'], ['service', 'on_the_way', 'work_in_progress'],
    ['service', 'work_in_progress', 'completed'], ['delivery', 'ready_for_pickup', 'in_transit'],
    ['delivery', 'in_transit', 'delivered'],
  ]) {
    assert.deepEqual(verbsOf({kind, status}), [{verb, isMain: true, path: 'status', body: {status: verb}}]);
  }
});

test('there is at most one main step, and none at the end', () => {
  for (const [kind, statuses] of [['delivery', DELIVERY], ['service', SERVICE]]) {
    for (const status of statuses) {
      for (const task of [null, 'accepted', 'arrived_at_store', 'picked_up', 'in_transit']) {
        const found = verbsOf({kind, status, task});
        assert.ok(found.filter(({isMain}) => isMain).length <= 1);
        if (isOver(status)) assert.deepEqual(found, []);
      }
    }
  }
});

test('the route leads to the vendor until the pickup', () => {
  assert.equal(headingFor({kind: 'delivery', status: 'preparing', task: 'accepted'}), 'vendor');
  assert.equal(headingFor({kind: 'delivery', status: 'in_transit', task: 'picked_up'}), 'destination');
  assert.equal(headingFor({kind: 'delivery', status: 'in_transit'}), 'destination');
  assert.equal(headingFor({kind: 'service', status: 'assigned'}), 'destination');
});

test('travel mode is available on the way to the customer', () => {
  assert.deepEqual([...DELIVERY, ...SERVICE].filter(allowsTravel), ['in_transit', 'on_the_way']);
});

test('an order that is not ready must be waited for', () => {
  assert.ok(isWaitingForVendor({kind: 'delivery', status: 'preparing', task: 'arrived_at_store'}));
  assert.ok(!isWaitingForVendor({kind: 'delivery', status: 'ready_for_pickup', task: 'arrived_at_store'}));
  assert.ok(!isWaitingForVendor({kind: 'service', status: 'assigned', task: 'accepted'}));
});

test('the tasks that are closest to their end come first, and the others keep their order', () => {
  const states = {a: 'accepted', b: 'picked_up', c: 'accepted', d: 'in_transit', e: 'arrived_at_store', f: 'picked_up'};
  const tasks = Object.entries(states).map(([job, state]) => ({job, state}));
  assert.equal(inOrder(tasks).map(({job}) => job).join(' '), 'd b f e a c');
});
