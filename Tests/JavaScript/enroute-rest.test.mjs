// Requests to the REST API: credentials, answers, and the error of failed requests.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {open} from './connected.mjs';

const answering = (status, body, headers = {}) => {
  const asked = [];
  const fetch = async (url, request) => {
    asked.push([url, request]);
    return new Response(body, {status, headers});
  };
  return {fetch, asked};
};

test('a request carries the credential and returns the answer', async () => {
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

test('an error without a problem document is thrown alike; a missing answer is a network error', async () => {
  const odd = await open({fetch: answering(502, '<html>').fetch});
  await assert.rejects(odd.enroute.rest('GET', '/x'), {code: 'internal', message: 'HTTP 502', retry: true,
    status: 502});
  const nobody = await open({fetch: async () => { throw new TypeError('fetch failed'); }});
  await assert.rejects(nobody.enroute.rest('GET', '/x'), {code: 'network', retry: true});
  const empty = await open({fetch: async () => new Response(null, {status: 204})});
  assert.equal((await empty.enroute.rest('PUT', '/x')).body, null);
});
