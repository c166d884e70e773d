// A real gateway and a real redis-server for one test. The gateway can be killed, frozen and restarted on the same port.

import {execFile, spawn} from 'node:child_process';
import {createHmac} from 'node:crypto';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {createServer, connect} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';

/** ms; CI machines are slow. */
export const PATIENCE = 60_000;
const LOOK_AGAIN = 25;
const SECRET = 'a-secret-of-tests-that-is-long-enough-for-hs256-0123456789';

const root = fileURLToPath(new URL('../..', import.meta.url));
const executable = process.env.ENROUTE_EXECUTABLE ?? join(root, '.build/debug/enroute');
export const isBuilt = existsSync(executable);
// `make` builds the gateway first, so a CI run must not skip these tests.
if (process.env.CI && !isBuilt) throw new Error(`there is no gateway at ${executable}`);

/** Returns the result of `look` as soon as it is truthy. */
export async function until(what, look) {
  for (const end = Date.now() + PATIENCE; ;) {
    const outcome = await look();
    if (outcome) return outcome;
    if (Date.now() > end) throw new Error(`It did not come to this: ${what}`);
    await new Promise((resolve) => { setTimeout(resolve, LOOK_AGAIN); });
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => { server.once('listening', resolve); });
  const {port} = server.address();
  await new Promise((resolve) => { server.close(resolve); });
  return port;
}

/** Starts a child process that ends with this process. */
function started(...all) {
  const child = spawn(...all);
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  return child;
}

const answers = (port) => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1', () => { socket.destroy(); resolve(true); });
  socket.on('error', () => resolve(false));
});

export class Stage {
  #folder = mkdtempSync(join(tmpdir(), 'enroute-javascript-'));
  #redis; #gateway; #settings;

  static async open(settings = {}) {
    const stage = new Stage();
    stage.#settings = settings;
    stage.redisPort = await freePort();
    stage.port = await freePort();
    stage.#redis = started('redis-server', [
      '--port', stage.redisPort, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', stage.#folder,
    ], {stdio: 'ignore'});
    await until('redis-server answers', () => answers(stage.redisPort));
    await stage.startGateway();
    return stage;
  }

  get url() { return `http://127.0.0.1:${this.port}/v1`; }

  async startGateway() {
    this.#gateway = started(executable, ['serve'], {
      stdio: ['ignore', 'ignore', process.env.ENROUTE_TEST_LOG ? 'inherit' : 'ignore'],
      env: {
        PATH: process.env.PATH, ENROUTE_MODE: 'development', ENROUTE_TLS: 'off', ENROUTE_LISTEN_HOST: '127.0.0.1',
        ENROUTE_LISTEN_PORT: this.port, ENROUTE_MANAGEMENT: 'off', ENROUTE_TOKEN_SECRET: SECRET,
        ENROUTE_REDIS_LIVE_URL: `redis://127.0.0.1:${this.redisPort}`, ENROUTE_EVENT_LOOPS: '1',
        ENROUTE_DRAIN_ACCEPT_SECONDS: '0', ENROUTE_OVERLOAD_LOOP_LAG_MS: '60000', ...this.#settings,
      },
    });
    const gateway = this.#gateway;
    await until('the gateway answers', () => {
      if (gateway.exitCode !== null) throw new Error(`The gateway ended with ${gateway.exitCode}.`);
      return answers(this.port);
    });
  }

  /** @param {NodeJS.Signals} name SIGSTOP, SIGCONT, SIGTERM, SIGKILL */
  signal(name) { this.#gateway.kill(name); }

  /** @param {NodeJS.Signals} name SIGSTOP, SIGCONT */
  signalRedis(name) { this.#redis.kill(name); }

  async gatewayEnds() {
    if (this.#gateway.exitCode !== null || this.#gateway.signalCode !== null) return;
    await new Promise((resolve) => { this.#gateway.once('exit', resolve); });
  }

  /** @returns {Promise<string>} a development token */
  token(role, person, lifetime = 900) {
    return new Promise((resolve, reject) => {
      execFile(executable, ['token', '--role', role, person, '--lifetime', lifetime], {
        env: {PATH: process.env.PATH, ENROUTE_TOKEN_SECRET: SECRET},
      }, (error, out) => (error ? reject(error) : resolve(out.trim())));
    });
  }

  /** The same token, expired a minute ago. */
  expired(token) {
    const [head, claims] = token.split('.');
    const said = JSON.parse(Buffer.from(claims, 'base64url'));
    const end = Math.floor(Date.now() / 1000) - 60;
    const past = Buffer.from(JSON.stringify({...said, iat: end - 60, exp: end})).toString('base64url');
    return `${head}.${past}.${createHmac('sha256', SECRET).update(`${head}.${past}`).digest('base64url')}`;
  }

  async close() {
    this.signal('SIGKILL');
    await this.gatewayEnds();
    this.#redis.kill('SIGKILL');
    await new Promise((resolve) => { this.#redis.once('exit', resolve); });
    rmSync(this.#folder, {recursive: true});
  }
}
