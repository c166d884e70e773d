// An app of another developer: the client as `npm pack` makes it, installed in its own folder, with Debian's React beside
// it. What an app imports from there is what npm would deliver, and nothing else of this repository.

import {execFileSync} from 'node:child_process';
import {cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

/** The root of the npm package. */
export const PACKAGE = fileURLToPath(new URL('../../Sources/JavaScript/', import.meta.url));
/** Where Debian installs packages for Node (node-react, node-typescript and others). */
const DEBIAN = '/usr/share/nodejs';
/** React with a renderer that needs no document, and what these need; `@types/react` for examples in TypeScript. */
const REACT = [
  'react', 'react-test-renderer', 'react-is', 'react-shallow-renderer', 'object-assign', 'scheduler', 'react-dom',
  '@types/react',
];
const programs = {
  npm: ['/usr/bin/npm', '/usr/local/bin/npm'], tsc: ['/usr/bin/tsc'], esbuild: ['/usr/bin/esbuild'],
};

/** Why a test cannot run, or `false`. `make` installs everything first, so in CI nothing may be missing. */
export function lacks(...names) {
  const isThere = (name) => (programs[name] ?? [join(DEBIAN, name, 'package.json')]).some((path) => existsSync(path));
  const missing = names.filter((name) => !isThere(name));
  if (missing.length === 0) return false;
  if (process.env.CI) throw new Error(`missing: ${missing.join(', ')}. Run: make deps`);
  return `missing: ${missing.join(', ')}. Run: make deps`;
}

/** Runs a program. @returns its standard output @throws with everything that it printed */
export function run(program, all, {cwd, env = {}} = {}) {
  try {
    return execFileSync(program, all, {
      cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: {PATH: process.env.PATH, ...env},
    });
  } catch (error) {
    throw new Error(`${program} ${all.join(' ')}: ${error.status}\n${error.stdout}${error.stderr}`);
  }
}

/** Runs npm without a network, and without traces outside of `folder`. */
export const npm = (folder, cwd, ...all) => run('npm', all, {
  cwd, env: {
    HOME: folder, npm_config_cache: join(folder, '.npm'), npm_config_offline: 'true', npm_config_audit: 'false',
    npm_config_fund: 'false', npm_config_update_notifier: 'false',
  },
});

export class App {
  folder = mkdtempSync(join(tmpdir(), 'enroute-app-'));

  /** @param {{react?: boolean}} what is installed besides the client */
  constructor({react = false} = {}) {
    const client = join(this.folder, 'node_modules/@enroute/client');
    mkdirSync(client, {recursive: true});
    const [{filename}] = JSON.parse(npm(this.folder, PACKAGE, 'pack', '--json', '--pack-destination', this.folder));
    this.tarball = join(this.folder, filename);
    run('tar', ['-xzf', this.tarball, '-C', client, '--strip-components=1']);
    for (const name of react ? REACT : []) {
      const to = join(this.folder, 'node_modules', name);
      mkdirSync(dirname(to), {recursive: true});
      cpSync(join(DEBIAN, name), to, {recursive: true, dereference: true, filter: (path) => !path.includes('/umd')});
    }
    this.write('package.json', '{"private": true, "type": "module"}');
  }

  write(name, text) {
    mkdirSync(dirname(join(this.folder, name)), {recursive: true});
    writeFileSync(join(this.folder, name), text);
    return join(this.folder, name);
  }

  /** Writes a module of the app and imports it. */
  async load(name, text) { return import(pathToFileURL(this.write(name, text))); }

  close() { rmSync(this.folder, {recursive: true, force: true}); }
}
