// Types of `@enroute/client/react`: hooks for React 18 or newer, and React Native. They do not depend on React's own types.

import type {Connection, Enroute, View} from './enroute.js';

/** ms for which a job is still followed after its last component was unmounted. */
export const LINGER: number;

/**
 * Follows a job as long as the component is mounted, and renders it again after each change. Components that follow the same
 * job share one subscription. If a job was refused or has ended and no component shows it, the next one that is mounted follows
 * it again.
 *
 * @param enroute the client, which the app starts and stops; `null` where there is none, such as on a server
 * @param job `null` or `undefined` follows nothing, and the result is `null`
 */
export function useJob(enroute: Enroute | null, job: string): View;
export function useJob(enroute: Enroute | null, job: string | null | undefined): View | null;

/** Renders the component again when the state of the connection changes. */
export function useConnection(enroute: Enroute | null): Connection;
