// Where the names of a map are written.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {MOST_LABELS, placeLabels, within} from '../../Sources/WebAssets/web/map-labels.js';

const VIEW = {width: 400, height: 300};
function place(features, sizeOf = () => 12, pins = []) {
  const placing = placeLabels(features, ({line}) => line, VIEW, sizeOf, (name) => name.length * 7, pins);
  for (;;) {
    const {done, value} = placing.next();
    if (done) return value;
  }
}
const street = (name, line, kind = 'minor') => ({name, class: kind, line});

test('a name is written along its street, and upright whichever way the street was drawn', () => {
  const [there] = place([street('High Street', [10, 100, 390, 100])]);
  const [back] = place([street('High Street', [390, 100, 10, 100])]);
  for (const {x, y, angle} of [there, back]) assert.deepEqual([x, y, Math.abs(angle)], [200, 100, 0]);
  const [steep] = place([street('Northgate', [200, 290, 210, 10])]);
  assert.ok(Math.abs(steep.angle) < Math.PI / 2 && Math.abs(steep.angle) > 1.4);
});

test('a name needs a street that is long and straight enough', () => {
  assert.deepEqual(place([street('A very long name of a street', [10, 100, 60, 100])]), []);
  const zigzag = Array.from({length: 40}, (_, at) => [at * 10, at % 2 ? 100 : 130]).flat();
  assert.deepEqual(place([street('Crooked Lane', zigzag)]), []);
});

test('names never overlap, and the larger street keeps its name', () => {
  const placed = place([
    street('Minor Street', [0, 100, 400, 100]), street('Main Street', [0, 106, 400, 106], 'major')]);
  assert.equal(placed[0].name, 'Main Street');
  const boxes = placed.map(({x, y, length}) => [x - length / 2, y - 6, x + length / 2, y + 6]);
  for (const [at, a] of boxes.entries()) {
    for (const b of boxes.slice(at + 1)) assert.ok(a[2] < b[0] || b[2] < a[0] || a[3] < b[1] || b[3] < a[1]);
  }
});

test('a name is not repeated nearby, and lies entirely within the view', () => {
  const placed = place([
    street('High Street', [0, 100, 200, 100]), street('High Street', [0, 140, 200, 140]),
    street('Edge Street', [0, 2, 400, 2])]);
  assert.deepEqual(placed.map(({name}) => name), ['High Street']);
});

test('the number of names is bounded, and classes without a size have none', () => {
  const many = Array.from({length: 3_000}, (_, at) => street(`S${at}`, [at % 20 * 20, 0, at % 20 * 20, 300]));
  assert.ok(place(many).length <= MOST_LABELS);
  assert.deepEqual(place([street('Path', [0, 100, 400, 100], 'path')], () => 0), []);
});

test('a name moves along its street to avoid a pin', () => {
  const [label] = place([street('High Street', [10, 100, 390, 100])], () => 12, [{x: 200, y: 110}]);
  assert.ok(Math.abs(label.x - 200) > 40);
});

test('a park has its name in the middle if it fits', () => {
  const park = (line) => ({name: 'Kings Park', class: 'park', isArea: true, line});
  const [label] = place([park([100, 100, 300, 100, 300, 200, 100, 200])]);
  assert.deepEqual([label.x, label.y, label.angle], [200, 150, 0]);
  assert.deepEqual(place([park([100, 100, 130, 100, 130, 200])]), []);
});

test('a line is cut at the edges of the view', () => {
  assert.deepEqual(within([-100, 50, 500, 50], 400, 300), [[0, 50, 400, 50]]);
  assert.deepEqual(within([-100, -50, 500, -50], 400, 300), []);
  assert.equal(within([10, 10, 10, 900, 50, 900, 50, 10], 400, 300).length, 2);
});
