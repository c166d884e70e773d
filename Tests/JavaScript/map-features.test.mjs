// The streets of a map as values: joined, bounded, found by place.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Features, MOST_POINTS, joined, project} from '../../Sources/WebAssets/web/map-features.js';

const line = (properties, ...coordinates) => ({properties, geometry: {type: 'LineString', coordinates}});
const read = (...features) => {
  const all = new Features();
  const steps = [...all.read({features})].length;
  return {all, steps};
};
const around = (lon, lat, degrees) => {
  const [west, north] = project(lon - degrees, lat + degrees);
  const [east, south] = project(lon + degrees, lat - degrees);
  return [west, north, east, south];
};

test('a view finds the features within it by class, and no others', () => {
  const {all} = read(
    line({class: 'major', name: 'High Street'}, [12.49, 41.9], [12.5, 41.9]), line({}, [12.495, 41.9], [12.495, 41.91]),
    line({class: 'minor'}, [20, 50], [20.001, 50]),
    {properties: {class: 'park'}, geometry: {type: 'Polygon', coordinates: [[[12.49, 41.9], [12.5, 41.9], [12.5, 41.91]]]}});
  const {drawn, labels} = all.find(around(12.495, 41.9, 0.001));
  assert.deepEqual([...drawn].map(([kind, {length}]) => [kind, length]).sort(), [['major', 1], ['minor', 1], ['park', 1]]);
  assert.deepEqual(labels.map(({name}) => name), ['High Street']);
  assert.equal(all.find(around(0, 0, 1)).drawn.size, 0);
});

test('a street that crosses many cells is found everywhere along it', () => {
  const {all} = read(line({class: 'motorway'}, [5, 45], [15, 50]));
  assert.equal(all.find(around(10, 47.6, 0.2)).drawn.get('motorway').length, 1);
});

test('the parts of a street are joined for its name, whichever way they were drawn', () => {
  const part = (...points) => ({lines: [points]});
  const whole = joined([part(2, 0, 3, 0), part(1, 0, 0, 0), part(1, 0, 2, 0), part(9, 9, 8, 8)]);
  assert.deepEqual(whole.map((points) => points.length / 2).sort(), [2, 4]);
  const long = whole.find((points) => points.length === 8);
  assert.deepEqual([Math.min(long[0], long[6]), Math.max(long[0], long[6])], [0, 3]);
});

test('a ring of streets ends, and so does a street that is listed twice', () => {
  const part = (...points) => ({lines: [points]});
  assert.equal(joined([part(0, 0, 1, 0), part(1, 0, 1, 1), part(1, 1, 0, 0), part(0, 0, 1, 0)]).length <= 2, true);
});

test('a large file is read in steps, up to a bound', () => {
  const long = Array.from({length: 5_000}, (_, at) => [at / 1_000, 1]);
  const {steps} = read(line({}, ...long), line({}, ...long), line({}, ...long));
  assert.ok(steps >= 3);
  const many = Array.from({length: 100_000}, () => [1, 1]);
  const {all} = read(...Array.from({length: 20}, () => line({class: 'minor'}, ...many)));
  assert.equal(all.find(around(1, 1, 0.01)).drawn.get('minor').length, Math.floor(MOST_POINTS / many.length));
});

test('features without a geometry and areas of unknown classes are left out', () => {
  const {all} = read({properties: null, geometry: null},
    {properties: {class: 'zoo'}, geometry: {type: 'Polygon', coordinates: [[[1, 1], [2, 1], [2, 2]]]}});
  assert.equal(all.find(around(1, 1, 1)).drawn.size, 0);
  assert.equal(all.box, null);
});
