// Times of today and of other days.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {timeText} from '../../Sources/WebAssets/web/page-times.js';

const at = (day, hour) => Date.UTC(2026, 10, day, hour);
const text = (time, now, language = 'en') => timeText(time, now, language, 'UTC').replace(/\s/g, ' ');

test('a time of another day has its date, in both languages', () => {
  assert.equal(text(at(29, 17), at(30, 9)), 'Nov 29, 5:00 PM');
  assert.equal(text(at(30, 17), at(29, 9)), 'Nov 30, 5:00 PM');
  assert.equal(text(at(29, 17), at(30, 9), 'de'), '29. Nov., 17:00');
});

test('a time of the same day has no date, and neither has a near one on the other side of midnight', () => {
  assert.equal(text(at(30, 23), at(30, 1)), '11:00 PM');
  assert.equal(text(at(29, 23), at(30, 1)), '11:00 PM');
  assert.equal(text(at(30, 1), at(29, 23), 'de'), '1:00');
});
