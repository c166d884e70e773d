// Pages also work below a path prefix, because their scripts name no address at the root of the host.

import assert from 'node:assert/strict';
import {readdirSync, readFileSync} from 'node:fs';
import {test} from 'node:test';

import {decoded, gateway} from '../../Sources/WebAssets/web/page-gateway.js';

const FOLDER = new URL('../../Sources/WebAssets/web/', import.meta.url);

test('the gateway is above the folder of its scripts', () => {
  assert.equal(`${gateway}/web/`, FOLDER.href);
});

test('no script of a page contains a URL that begins at the root of the host', () => {
  const scripts = readdirSync(FOLDER).filter((name) => name.endsWith('.js') && !name.startsWith('enroute'));
  assert.ok(scripts.length > 50);
  for (const name of scripts) {
    const code = readFileSync(new URL(name, FOLDER), 'utf8').replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '');
    assert.doesNotMatch(code, /['"`]\/(api|assets|manifest|near|ops|rider|track|v1|worker)\b/, name);
  }
});

test('a URL that is not percent-encoded correctly stays unchanged', () => {
  assert.deepEqual(['a%20b', 'a%zz', '%', ''].map(decoded), ['a b', 'a%zz', '%', '']);
});
