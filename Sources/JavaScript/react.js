// The subpath `@enroute/client/react`: hooks for React and React Native. Views are frozen values, so React can compare them.
// Components that follow the same job share one subscription. It ends shortly after the last of them is unmounted, so that a
// change of screen, or the second mount of StrictMode, does not subscribe again.

'use client';

import {useMemo, useSyncExternalStore} from 'react';
import {unknownView} from './enroute-view.js';

/** ms for which a job is still followed after its last component was unmounted. */
export const LINGER = 1_000;

const STOPPED = Object.freeze({state: 'stopped', degraded: false});

/** The followed jobs by client and name: `{follow, listeners, release}`. */
const followed = new WeakMap();
/** The last connection of each client, so that an equal one is the same object. */
const connections = new WeakMap();

/**
 * Follows a job as long as the component is mounted, and renders it again after each change.
 *
 * @param {import('./enroute').Enroute|null} enroute the client, which the app starts and stops; `null` on a server
 * @param {string|null|undefined} job `null` follows nothing
 * @returns {import('./enroute').View|null} `null` without a job; `known` is false until the first snapshot
 */
export function useJob(enroute, job) {
  const source = useMemo(() => sourceOf(enroute, job), [enroute, job]);
  return useSyncExternalStore(source.subscribe, source.view, source.unknown);
}

/**
 * Renders the component again when the state of the connection changes.
 *
 * @param {import('./enroute').Enroute|null} enroute
 * @returns {import('./enroute').Connection}
 */
export function useConnection(enroute) {
  const source = useMemo(() => ({
    subscribe: (changed) => enroute?.on('connection', changed) ?? (() => {}),
    connection: () => (enroute ? connectionOf(enroute) : STOPPED),
  }), [enroute]);
  return useSyncExternalStore(source.subscribe, source.connection, () => STOPPED);
}

/** Where `useJob` reads. Rendering alone changes nothing: a server renders, and React may discard what it rendered. */
function sourceOf(enroute, job) {
  const unknown = job ? unknownView(job) : null;
  if (!enroute || !job) return {subscribe: () => () => {}, view: () => unknown, unknown: () => unknown};
  return {
    subscribe: (changed) => join(enroute, job, changed),
    view: () => followed.get(enroute)?.get(job)?.follow.view ?? unknown,
    unknown: () => unknown,
  };
}

function join(enroute, job, changed) {
  if (!followed.has(enroute)) followed.set(enroute, new Map());
  const jobs = followed.get(enroute);
  const before = jobs.get(job);
  if (before?.listeners.size === 0) {
    clearTimeout(before.release);
    // The view is final. A component that is mounted again follows again.
    if (before.follow.view.ended || before.follow.view.refused) before.end();
  }
  if (!jobs.has(job)) {
    const listeners = new Set();
    const follow = enroute.follow(job, () => { for (const listener of [...listeners]) listener(); });
    const end = () => {
      jobs.delete(job);
      follow.stop();
    };
    jobs.set(job, {follow, listeners, end});
  }
  const shared = jobs.get(job);
  // A wrapper for each call, so that one function can subscribe twice.
  const listener = () => changed();
  shared.listeners.add(listener);
  return () => {
    if (!shared.listeners.delete(listener) || shared.listeners.size > 0) return;
    shared.release = setTimeout(shared.end, LINGER);
    shared.release.unref?.();
  };
}

function connectionOf(enroute) {
  const before = connections.get(enroute);
  const now = enroute.connection;
  if (before && JSON.stringify(before) === JSON.stringify(now)) return before;
  connections.set(enroute, now);
  return now;
}
