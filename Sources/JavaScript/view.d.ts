// Types of `@enroute/client/view`: the pure functions that turn messages into views, for tests of apps and for clients that
// receive messages in another way, such as over an event stream.

import type {Change, Place, Pool, PoolRider, Status, Step, View} from './enroute.js';

/** A message of the gateway, as the protocol describes it. */
export interface Message {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** Highest plausible speed, m/s. */
export const FASTEST: number;
/** ms of consistent readings before an implausible jump is accepted. */
export const BELIEVED_AFTER: number;

/** The view before the first snapshot. */
export function unknownView(job: string): View;

/**
 * Returns the next view and what changed. `change` is `null` if the message brings nothing new; the view is then the same
 * object.
 *
 * @param message about the job of the view
 * @param now ms of a monotonic clock
 * @param more highest plausible speed in m/s; the local wall clock, ms since the epoch
 */
export function reduce(
  view: View, message: Message, now: number, more?: {fastest?: number; wall?: number | null},
): {view: View; change: Change | null};

/** Returns the steps after a status was reached. A side status (`allocation_failed`) leaves them unchanged. */
export function stepsAt(steps: readonly Step[], status: Status): readonly Step[];

/** Whether a status id (`<ms>-<count>`) is older than another one. */
export function isBefore(a: string, b: string): boolean;

/** Great-circle distance in m. */
export function distance(a: Place, b: Place): number;

/** Bearing from one place to another, 0 to 360 degrees clockwise from north. */
export function bearing(a: Place, b: Place): number;

/** The pool before the first snapshot. */
export function unknownPool(zone: string): Pool;

/** Returns the pool after a message and what changed; `null` for nothing new. */
export function reducePool(
  pool: Pool, message: Message,
): {pool: Pool; change: 'pool' | 'refused' | (Message & Partial<PoolRider>) | null};
