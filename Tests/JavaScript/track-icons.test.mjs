// The marker on the customer's map shows how the rider travels.

import assert from 'node:assert/strict';
import {test} from 'node:test';

import {riderIcon, vehicleOf} from '../../Sources/WebAssets/web/track-icons.js';

test('the icon shows the job\u2019s vehicle, else the rider\u2019s, else the usual one of the kind', () => {
  const riderCard = {name: 'Rosa', vehicle: 'car'};
  assert.equal(vehicleOf({kind: 'delivery', riderCard, display: {vehicle: 'foot'}}), 'foot');
  assert.equal(vehicleOf({kind: 'delivery', riderCard, display: {items: []}}), 'car');
  assert.equal(vehicleOf({kind: 'delivery', riderCard: null, display: null}), 'moped');
  assert.equal(vehicleOf({kind: 'service', riderCard: {name: 'Ugo'}, display: null}), 'van');
});

test('each vehicle has a drawing; bicycles share one, and so do vans and trucks', () => {
  const drawings = ['foot', 'bicycle', 'moped', 'car', 'van'].map(riderIcon);
  assert.equal(new Set(drawings).size, 5);
  assert.equal(riderIcon('cargo_bike'), riderIcon('bicycle'));
  assert.equal(riderIcon('truck'), riderIcon('van'));
  // A vehicle that a newer gateway knows.
  assert.equal(riderIcon('zeppelin'), riderIcon('van'));
});
