// The list of defects and their tests (Tests/defects.md) is complete, and every test that it names exists with the id.

import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {test} from 'node:test';

const folder = new URL('../', import.meta.url);
const list = readFileSync(new URL('defects.md', folder), 'utf8');
const rows = [...list.matchAll(/^\| (D\d+) \| [^|]+ \| (.+) \|$/gm)].map(([, id, tests]) => ({
  id, tests: tests.split(/; (?=`)/).map((each) => /^`([^`]+)`: (.+)$/.exec(each)?.slice(1)),
}));

test('the list of defects names a test for each of D1 to D36, in order', () => {
  assert.deepEqual(rows.map(({id}) => id), Array.from({length: 36}, (_, at) => `D${at + 1}`));
});

for (const {id, tests} of rows) {
  test(`${id} has the tests that the list of defects names`, () => {
    for (const named of tests) {
      assert.ok(named, `${id}: each test is \`file\`: name`);
      const [file, name] = named;
      const place = new URL(file, folder);
      assert.ok(existsSync(place), `${file} does not exist`);
      const text = readFileSync(place, 'utf8').replaceAll('\\u2019', '’').replace(/\s+/g, ' ');
      assert.ok(text.includes(name), `${file} has no test "${name}"`);
      assert.match(name, new RegExp(`(^|[^a-z0-9])${id}([^0-9a-z]|$)`, 'i'), `"${name}" does not carry ${id}`);
    }
  });
}
