// The npm package: what is in it, that every way of resolving modules finds each part and its types, that bundlers leave out
// what an app does not use, and that the types compile.

import assert from 'node:assert/strict';
import {existsSync, readFileSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {gzipSync} from 'node:zlib';
import {App, PACKAGE, lacks, npm, run} from './installed.mjs';

const skip = lacks('npm');
const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
const subpaths = Object.keys(manifest.exports).filter((name) => name !== './package.json');
/** `@enroute/client/view` */
const specifier = (subpath) => manifest.name + subpath.slice(1);
const parts = {
  '.': 'Enroute', './view': 'reduce', './route': 'Route', './words': 'arrivalText', './react': 'useJob',
  './element': 'defineEnrouteJob', './react-native': 'BackgroundReporter',
};
let app;
before(() => { if (!skip) app = new App({react: lacks('react') === false}); });
after(() => app?.close());

test('npm pack contains the client, its types and its own README, and nothing else', {skip}, () => {
  const [packed] = JSON.parse(npm(app.folder, PACKAGE, 'pack', '--dry-run', '--json'));
  assert.deepEqual(packed.files.map(({path}) => path).sort(), [
    'LICENSE', 'README.md', 'background-queue.js', 'element-text.js', 'element.d.ts', 'element.js', 'enroute-connection.js',
    'enroute-rest.js', 'enroute-route.js', 'enroute-timing.js', 'enroute-view.js', 'enroute-words.js', 'enroute.d.ts',
    'enroute.js', 'package.json', 'react-native.d.ts', 'react-native.js', 'react.d.ts', 'react.js', 'route.d.ts', 'route.js',
    'view.d.ts', 'view.js', 'words.d.ts', 'words.js',
  ]);
  assert.equal(packed.name, '@enroute/client');
  assert.ok(packed.size < 60_000, `${packed.size} bytes`);
  const text = (path) => readFileSync(path, 'utf8');
  assert.equal(text(join(PACKAGE, 'LICENSE')), text(new URL('../../LICENSE', import.meta.url)));
  assert.match(text(join(PACKAGE, 'README.md')), /^# @enroute\/client\n/);
});

test('npm installs the package without a network and without another package', {skip}, () => {
  const other = new App();
  try {
    npm(other.folder, other.folder, 'install', other.tarball);
    const installed = readdirSync(join(other.folder, 'node_modules')).filter((name) => !name.startsWith('.'));
    assert.deepEqual(installed, ['@enroute']);
    assert.ok(existsSync(join(other.folder, 'node_modules/@enroute/client/enroute.js')));
  } finally {
    other.close();
  }
});

test('every part can be imported by its name, on a machine without a document', {skip: skip || lacks('react')}, async () => {
  assert.deepEqual(Object.keys(parts).sort(), subpaths.sort());
  const source = subpaths.map((subpath, index) => `export * as part${index} from '${specifier(subpath)}';\n`).join('');
  const loaded = await app.load('parts.mjs', source);
  for (const [index, subpath] of subpaths.entries()) {
    assert.equal(typeof loaded[`part${index}`][parts[subpath]], 'function', subpath);
  }
  assert.equal(loaded[`part${subpaths.indexOf('./element')}`].defineEnrouteJob().name, 'EnrouteJob');
});

test('tools that do not read exports find the same files: main, types, and a file per subpath', () => {
  assert.equal(manifest.main, manifest.exports['.'].default);
  assert.equal(manifest.types, manifest.exports['.'].types);
  for (const subpath of subpaths) {
    const {types, default: module, ...more} = manifest.exports[subpath];
    // Conditions are tried in order, so the types come first.
    assert.deepEqual([Object.keys(manifest.exports[subpath])[0], more], ['types', {}]);
    assert.equal(types, module.replace(/\.js$/, '.d.ts'));
    for (const file of [types, module]) assert.ok(existsSync(join(PACKAGE, file)), file);
    // Metro before React Native 0.79 and classic TypeScript resolution add the extension to the subpath.
    if (subpath !== '.') assert.equal(module, `${subpath}.js`);
  }
});

test('the manifest names no dependency, an optional React, and can be published', () => {
  assert.deepEqual(manifest.dependencies ?? {}, {});
  assert.deepEqual(manifest.peerDependencies, {react: '>=18'});
  assert.deepEqual(manifest.peerDependenciesMeta, {react: {optional: true}});
  assert.deepEqual([manifest.private, manifest.sideEffects, manifest.type], [undefined, false, 'module']);
  assert.equal(manifest.publishConfig.access, 'public');
  assert.equal(manifest.repository.directory, 'Sources/JavaScript');
});

test('the types name everything that each part exports, and nothing else', {skip: skip || lacks('react')}, async () => {
  for (const subpath of subpaths.filter((name) => name !== '.')) {
    const types = readFileSync(join(PACKAGE, manifest.exports[subpath].types), 'utf8');
    const declared = [...types.matchAll(/^export (?:const|function|class) (\w+)|^export \{(\w+)\}/gm)]
      .map(([, name, again]) => name ?? again);
    const part = await app.load(`${subpath.slice(2)}.mjs`, `export * from '${specifier(subpath)}';`);
    assert.deepEqual([...new Set(declared)].sort(), Object.keys(part).sort(), subpath);
  }
});

const compiled = [
  {module: 'commonjs', moduleResolution: 'node', target: 'es2020', file: 'app.ts'},
  {module: 'esnext', moduleResolution: 'node', target: 'es2020', file: 'app.ts'},
  {module: 'node16', moduleResolution: 'node16', target: 'es2022', file: 'app.mts'},
  {module: 'nodenext', moduleResolution: 'nodenext', target: 'es2022', file: 'app.mts'},
  {module: 'esnext', moduleResolution: 'bundler', target: 'es2022', file: 'app.ts', since: 5},
];
for (const {file, since = 4, ...options} of compiled) {
  const why = skip || lacks('tsc') || tooOld(since);
  test(`the types compile with moduleResolution ${options.moduleResolution} and module ${options.module}`, {skip: why}, () => {
    compile({[file]: USE}, options);
    // What is not typed, or resolved to `any`, would accept these. Each is a file, because the compiler takes seconds to start.
    const files = WRONG.map(([wrong], at) => [`wrong-${at}-${file}`, `${IMPORTS}\n${wrong}\n`]);
    assert.throws(() => compile(Object.fromEntries(files), options), ({message}) => {
      for (const [at, [wrong, code]] of WRONG.entries()) {
        assert.match(message, new RegExp(`wrong-${at}-${file}\\(\\d+,\\d+\\): error (${code}):`), wrong);
      }
      return true;
    });
  });
}

/** TypeScript before version 5 has no resolution `bundler`; esbuild is tried below instead. */
function tooOld(since) {
  const version = lacks('tsc') ? '0' : run('tsc', ['--version']).replace(/\D*(\d+)[^]*/, '$1');
  return Number(version) < since && `TypeScript ${version} is older than ${since}`;
}

/** @param {Object<string, string>} sources by the names of their files */
function compile(sources, options) {
  for (const [file, source] of Object.entries(sources)) app.write(file, source);
  app.write('tsconfig.json', JSON.stringify({
    compilerOptions: {...options, strict: true, noEmit: true, lib: ['es2022', 'dom'], types: []},
    files: Object.keys(sources),
  }));
  return run('tsc', ['-p', app.folder]);
}

const IMPORTS = `
import {Enroute, EnrouteError, type Fix, type View} from '@enroute/client';
import {reduce, unknownView} from '@enroute/client/view';
import {arrivalText, readersLocale} from '@enroute/client/words';
import {useConnection, useJob} from '@enroute/client/react';
import {EnrouteJob, defineEnrouteJob} from '@enroute/client/element';
import {BackgroundReporter, expoTask, fixesOfExpo} from '@enroute/client/react-native';
declare const enroute: Enroute;
declare const reporter: BackgroundReporter;`;
const USE = `${IMPORTS}
const view: View = useJob(enroute, 'visit-1');
const none: View | null = useJob(enroute, null);
const state: 'connecting' | 'open' | 'waiting' | 'refused' | 'stopped' = useConnection(enroute).state;
const text: string = arrivalText(view.eta, enroute.serverTime, readersLocale('en', ['en-GB']));
const next: View = reduce(unknownView('visit-1'), {type: 'subscribed'}, 0).view;
const element: EnrouteJob = document.createElement('enroute-job');
element.client = enroute;
element.addEventListener('enroute-change', ({detail}) => { const job: string = detail.view.job; });
defineEnrouteJob();
const fix: Fix = fixesOfExpo({locations: []})[0]!;
reporter.report(fix).then(({accepted, error}) => {
  const all: readonly string[] = accepted;
  const why: EnrouteError | null = error;
});
const task: (body: {data: unknown; error: null}) => Promise<unknown> = expoTask(reporter);
`;
const WRONG = [
  ['const view: string = useJob(enroute, "visit-1");', 'TS2322'],
  ['useConnection(enroute).stat;', 'TS2339|TS2551'],
  ['const text: number = arrivalText(null, 0, "en");', 'TS2322'], ['reduce(1, {type: "x"}, 0);', 'TS2345'],
  ['document.createElement("enroute-job").client = 1;', 'TS2322'], ['reporter.report("here");', 'TS2345'],
];

const skipBundles = skip || lacks('esbuild');
test('esbuild, a bundler, resolves every part and leaves out what an app does not use', {skip: skipBundles}, () => {
  const bundle = (source) => {
    app.write('bundled.mjs', source);
    return run('esbuild', ['bundled.mjs', '--bundle', '--format=esm', '--minify', '--external:react'], {cwd: app.folder});
  };
  for (const subpath of subpaths) {
    const name = specifier(subpath);
    assert.ok(bundle(`import {${parts[subpath]}} from '${name}'; console.log(${parts[subpath]});`).length > 500, name);
    assert.equal(bundle(`import '${name}';`).trim(), '', `${name} has side effects`);
  }
  const words = bundle("import {usesMiles} from '@enroute/client/words'; console.log(usesMiles('en'));");
  assert.ok(!words.includes('Ankunft'), 'sentences of an unused function are bundled');
  const all = gzipSync(bundle("export * from '@enroute/client';")).length;
  assert.ok(all < 10_000, `the client is ${all} bytes, minified and compressed`);
});
