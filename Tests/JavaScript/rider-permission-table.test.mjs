// The Swift client has the same table of the location permission (US-122): its tests read a copy, which this test compares
// with the page's. After a change run `ENROUTE_WRITE=1 node --test Tests/JavaScript/rider-permission-table.test.mjs`.

import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {test} from 'node:test';
import {TABLE} from '../../Sources/WebAssets/web/rider-permission.js';

const copy = new URL('../../Sources/Client/Tests/EnrouteTests/permission-table.json', import.meta.url);

test('the table of the location permission is the one that the Swift client is tested with', () => {
  if (process.env.ENROUTE_WRITE) writeFileSync(copy, `${JSON.stringify(TABLE, null, 1)}\n`);
  assert.deepEqual(JSON.parse(readFileSync(copy, 'utf8')), TABLE);
});
