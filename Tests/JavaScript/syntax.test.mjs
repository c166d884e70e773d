// Every script of the pages and of the library can be parsed. A link that was copied as a file, for instance, cannot.

import assert from 'node:assert/strict';
import {execFile} from 'node:child_process';
import {readdirSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {test} from 'node:test';

const folders = ['../../Sources/WebAssets/web/', '../../Sources/JavaScript/', '../../Sources/enroute/Demo/Panel/'];

test('every script of the pages, the library and the demo can be parsed', async () => {
  const check = promisify(execFile);
  for (const folder of folders) {
    const path = fileURLToPath(new URL(folder, import.meta.url));
    const scripts = readdirSync(path).filter((name) => name.endsWith('.js'));
    assert.ok(scripts.length > 1, path);
    await Promise.all(scripts.map((name) => check(process.execPath, ['--check', path + name])));
  }
});
