// Requests to the REST API: credentials, responses, and the error of failed requests.

import assert from 'node:assert/strict';
import {createServer} from 'node:http';
import {test} from 'node:test';
import {Clock, playedSockets} from './clock.mjs';
import {begin, open} from './connected.mjs';

const answering = (status, body, headers = {}) => {
  const asked = [];
  const fetch = async (url, request) => {
    asked.push([url, request]);
    return new Response(body, {status, headers});
  };
  return {fetch, asked};
};

test('a request carries the credential and returns the response', async () => {
  const {fetch, asked} = answering(201, '{"a":1}', {ETag: '"x"'});
  const {enroute} = await open({fetch});
  const answer = await enroute.rest('POST', '/jobs', {body: {b: 2}, headers: {'Idempotency-Key': 'k'}});
  assert.deepEqual([answer.status, answer.body, answer.headers.get('etag')], [201, {a: 1}, '"x"']);
  const [[url, {method, headers, body}]] = asked;
  assert.deepEqual([url, method, body], ['https://gw.example/api/v1/jobs', 'POST', '{"b":2}']);
  assert.deepEqual(headers, {Authorization: 'Bearer t', 'Content-Type': 'application/json', 'Idempotency-Key': 'k'});
});

test('requests go beside the WebSocket, also below a path prefix', async () => {
  for (const [url, rest] of [
    ['https://gw.example', 'https://gw.example/api/v1'], ['wss://gw.example/v1', 'https://gw.example/api/v1'],
    ['wss://gw.example/enroute/v1', 'https://gw.example/enroute/api/v1'],
    ['https://gw.example/a/b/v1/', 'https://gw.example/a/b/api/v1'],
    ['wss://gw.example/socket', 'https://gw.example/api/v1'], ['https://v1', 'https://v1/api/v1'],
  ]) {
    const {fetch, asked} = answering(200, '{}');
    const {enroute} = await open({url, fetch});
    await enroute.rest('GET', '/jobs');
    assert.equal(asked[0][0], `${rest}/jobs`);
  }
});

test('a problem document is thrown with its code, members and retry time', async () => {
  const problem = JSON.stringify({
    type: 'urn:enroute:problem:active_task', title: 'Conflict', status: 409, detail: 'Not now.', code: 'active_task',
    retryable: false, tasks: ['order-1'],
  });
  const {fetch} = answering(409, problem, {'Retry-After': '3'});
  const {enroute} = await open({fetch});
  await assert.rejects(enroute.rest('PATCH', '/riders/me/status', {body: {}}), {
    name: 'EnrouteError', code: 'active_task', message: 'Not now.', retry: false, status: 409, retryInMs: 3_000,
    tasks: ['order-1'],
  });
});

test('an error without a problem document is thrown alike; a missing response is a network error', async () => {
  const odd = await open({fetch: answering(502, '<html>').fetch});
  await assert.rejects(odd.enroute.rest('GET', '/x'), {code: 'internal', message: 'HTTP 502', retry: true,
    status: 502});
  const nobody = await open({fetch: async () => { throw new TypeError('fetch failed'); }});
  await assert.rejects(nobody.enroute.rest('GET', '/x'), {code: 'network', retry: true});
  const empty = await open({fetch: async () => new Response(null, {status: 204})});
  assert.equal((await empty.enroute.rest('PUT', '/x')).body, null);
});

test('the page of a network that requires a sign-in is not a response', async () => {
  const message = 'POST /x got no answer: it is not JSON, and may be the page of a proxy or a network';
  for (const body of ['<html>Welcome to our WLAN</html>', 'OK']) {
    const {enroute} = await open({fetch: answering(200, body).fetch});
    await assert.rejects(enroute.rest('POST', '/x', {body: {}}), {code: 'network', retry: true, message});
  }
});

test('a redirect is not followed, because the credential is not for the other address', async () => {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(302, {Location: '/sign-in', Connection: 'close'}).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => { server.once('listening', resolve); });
  const enroute = begin({
    url: `http://127.0.0.1:${server.address().port}/v1`, credential: () => ({token: 't'}), WebSocket: class {},
  });
  await assert.rejects(enroute.rest('POST', '/x'), {code: 'network', retry: true, message: /redirect/});
  assert.deepEqual(asked, ['POST /api/v1/x']);
  server.close();
});

test('a request that a proxy refuses temporarily may be tried again', async () => {
  for (const [status, retry] of [[408, true], [425, true], [429, true], [503, true], [403, false], [404, false]]) {
    const {enroute} = await open({fetch: answering(status, '<html>', {'Retry-After': '2'}).fetch});
    await assert.rejects(enroute.rest('GET', '/x'), {code: 'internal', retry, status, retryInMs: 2_000});
  }
  const final = await open({fetch: answering(429, '{"code":"limit_exceeded","retryable":false}').fetch});
  await assert.rejects(final.enroute.rest('PUT', '/x'), {code: 'limit_exceeded', retry: false});
});

test('a failure names its cause, as far as the platform does', async () => {
  const cause = new Error('getaddrinfo ENOTFOUND track.example');
  const rest = await open({fetch: async () => { throw new TypeError('fetch failed', {cause}); }});
  await assert.rejects(rest.enroute.rest('GET', '/x'), {message: `GET /x got no answer: fetch failed: ${cause.message}`});
  const reasons = [];
  for (const [event, reason] of [[{message: cause.message}, ''], [{}, ''], [{message: cause.message}, 'the gateway\u2019s']]) {
    const {enroute, peer} = await open();
    peer.onerror(event);
    peer.closes(1006, reason);
    reasons.push(enroute.connection.close.reason);
  }
  assert.deepEqual(reasons, [cause.message, '', 'the gateway\u2019s']);
});

test('a credential that does not arrive in time fails the request like a missing response', async () => {
  const {fetch, asked} = answering(200, '{}');
  let isHanging = false;
  const credential = () => (isHanging ? new Promise(() => {}) : {token: 't'});
  const {enroute, clock} = await open({fetch, credential});
  isHanging = true;
  const hanging = assert.rejects(enroute.rest('GET', '/x'), {
    code: 'network', retry: true, message: "The app's credential function did not answer within 15 s."});
  await clock.pass(15_000);
  await hanging;
  isHanging = false;
  assert.equal((await enroute.rest('GET', '/x')).status, 200);
  assert.equal(asked.length, 1, 'what was late sends nothing');
});

test('a slow credential leaves less time for the response', async () => {
  let arrives;
  const credential = () => new Promise((resolve) => { arrives = () => resolve({token: 't'}); });
  const fetch = (url, {signal}) => new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')));
  });
  const clock = new Clock();
  const enroute = begin({url: 'wss://x/v1', credential, fetch, WebSocket: class {}, ...clock});
  const late = {code: 'network', message: 'GET /x got no answer: no answer in time'};
  const failed = assert.rejects(enroute.rest('GET', '/x'), late);
  await clock.pass(10_000);
  arrives();
  await clock.pass(5_000);
  await failed;
});

test('the error shows that the app has no credential', async () => {
  for (const credential of [() => { throw new Error('away'); }, async () => { throw new Error('away'); }]) {
    const away = begin({url: 'wss://x/v1', credential, WebSocket: class {}});
    await assert.rejects(away.rest('GET', '/x'), {code: 'network', message: 'No credential is available: away'});
  }
});

test('a connection reports whether the app or the gateway did not answer, and queries the app again', async () => {
  let calls = 0;
  const clock = new Clock();
  const sockets = playedSockets();
  const credential = () => (++calls === 1 ? new Promise(() => {}) : {token: 't'});
  const enroute = begin({url: 'wss://x/v1', credential, WebSocket: sockets, ...clock});
  enroute.start();
  await clock.pass(15_000);
  assert.deepEqual([enroute.connection.state, enroute.connection.close], [
    'waiting', {code: 1006, reason: "The app's credential function did not answer within 15 s."}]);
  await clock.pass(3_000);
  assert.deepEqual([calls, sockets.all.length], [2, 1]);
  await clock.pass(15_000);
  assert.equal(enroute.connection.close.reason, 'the gateway did not answer in time');
});
