// Types of enroute.js. Times are ms; `at`, `received`, `statusAt` and `arrivesAt` since the epoch, by the gateway's
// clock.

export interface EnrouteOptions {
  /** Where the WebSocket is: `https://host/v1` or `wss://host/v1`; without it, of the page's own origin. */
  url?: string;
  /** Who signs in, asked at each connection and request. `null`: nobody, and the connection is refused. May throw:
   * asked again. */
  credential: () => Promise<Credential | null> | Credential | null;
  /** The REST interface, `/api/v1` where not named. */
  rest?: string;
  /** Nobody gets there faster, m/s: 60 where not named. Higher for trips that are replayed faster than they were. */
  fastest?: number;
  /** Where there is none (Node 20): a class like the browser's. */
  WebSocket?: unknown;
  fetch?: typeof fetch;
  /** A clock that does not go back, ms. `performance.now()` where not named. */
  now?: () => number;
  /** The wall clock, ms since the epoch. */
  wall?: () => number;
  random?: () => number;
  timers?: {setTimeout(action: () => void, delay: number): unknown; clearTimeout(timer: unknown): void};
}

export type Credential = {token: string} | {link: string};

export interface Connection {
  /** `waiting`: gone, and coming back at `retryAt`, or the system says that it is offline; with a `close` of 4009 there
   * was no room. `refused`: coming back is of no use. */
  readonly state: 'connecting' | 'open' | 'waiting' | 'refused' | 'stopped';
  /** The gateway hears nothing from Redis: what is shown may be old. */
  readonly degraded: boolean;
  /** The connection stands, and nothing has come for longer than it should: the gateway was asked and has not answered
   * within 4 s. What is shown may be old, until something comes. */
  readonly silent?: boolean;
  /** When the next attempt is made, by `Date.now()`. */
  readonly retryAt?: number;
  /** How the last connection ended (PROTOCOL.md, "Close codes"). */
  readonly close?: {readonly code: number; readonly reason: string};
}

export type Tracking = 'waiting' | 'live' | 'stale' | 'paused' | 'arrived' | 'ended';
export type EndReason = 'arrived' | 'deactivated' | 'time_limit' | 'completed' | 'cancelled' | 'revoked' | 'reassigned';
export type Status =
  | 'pending_vendor_acceptance' | 'accepted' | 'preparing' | 'ready_for_pickup' | 'in_transit' | 'delivered'
  | 'allocation_failed' | 'assigned' | 'on_the_way' | 'work_in_progress' | 'completed' | 'cancelled';
export type UnavailableReason =
  | 'no_fix' | 'permission_denied' | 'services_disabled' | 'hidden' | 'low_battery' | 'navigation_handoff' | 'network'
  | 'unknown';

/** Degrees, WGS 84. */
export interface Place { readonly lat: number; readonly lon: number }

export interface Position extends Place {
  /** 16 digits; a later one is greater. */
  readonly id: string;
  readonly at: number;
  readonly received: number;
  readonly job: string;
  /** m */ readonly acc?: number;
  /** m/s */ readonly spd?: number;
  /** Degrees clockwise from north. */ readonly hdg?: number;
}

export interface Eta {
  readonly state: 'ok' | 'recalculating' | 'unavailable';
  readonly arrivesAt?: number;
  /** s from `at`. */ readonly seconds?: number;
  readonly source?: string;
  readonly confidence?: 'low' | 'medium' | 'high';
  readonly at: number;
  /** Stops before. */ readonly stopsBefore?: number;
}

export interface Step {
  readonly status: Status;
  readonly state: 'complete' | 'active' | 'upcoming' | 'cancelled';
}

/** What a follower sees of one job; frozen, a new one for each change. */
export interface View {
  readonly job: string;
  /** A whole state came. */
  readonly known: boolean;
  readonly kind: 'delivery' | 'service' | null;
  readonly status: Status | null;
  readonly statusAt: number | null;
  readonly steps: readonly Step[];
  readonly tracking: Tracking;
  readonly reason: EndReason | null;
  /** Names words of `GET texts`, under `tracking`. */
  readonly text: string | null;
  /** The same of why nothing new is seen: shown with `stale` and `waiting`. */
  readonly unavailable: string | null;
  readonly proximity: 'approaching' | 'arrived' | 'left' | null;
  /** What may be drawn; `null` when nothing may. */
  readonly position: Position | null;
  /** When it was received, by `now` (in a browser `performance.now()`). */
  readonly positionReceivedAt: number | null;
  /** The same by `Date.now()`. `performance.now()` may stand still while a phone sleeps: of two ages the greater is
   * true. */
  readonly positionReceivedAtWall: number | null;
  readonly destination: Place | null;
  /** What the vendor is called, where the gateway tells it. */
  readonly vendor: string | null;
  /** Where that is, as it was written. */
  readonly vendorAddress: string | null;
  readonly geocoding: 'ok' | 'low' | 'none' | null;
  readonly eta: Eta | null;
  /** Following is over. */
  readonly ended: EndReason | null;
  /** There is nothing to follow, or not for us. */
  readonly refused: {readonly code: string; readonly message: string} | null;
  readonly epoch: string | null;
  /** Of the newest status. */
  readonly id: string | null;
  readonly travelDeadline: number | null;
  /** The gateway's clock minus `Date.now()`. */
  readonly clockOffset: number;
}

export type Change =
  | 'snapshot' | 'reset' | 'status' | 'location' | 'tracking' | 'eta' | 'unavailable' | 'proximity'
  | 'ended' | 'refused';

export interface Follow { readonly view: View; stop(): void }

export interface PoolRider {
  readonly rider: string;
  readonly available: boolean;
  readonly heartbeat?: number;
  /** The rest is known of riders whose change was seen. */
  readonly change?: string;
  readonly status?: 'online' | 'offline';
  readonly reachable?: boolean;
  readonly approved?: boolean;
  readonly draining?: boolean;
  readonly tasks?: number;
  readonly capacity?: number;
  readonly job?: string;
  readonly at?: number;
}

export interface Pool {
  readonly zone: string;
  readonly known: boolean;
  readonly version: number | null;
  readonly riders: ReadonlyMap<string, PoolRider>;
  /** Of all who may get a task, shown or not. */
  readonly count: number;
  readonly refused: {readonly code: string; readonly message: string} | null;
}

export interface Watch { readonly pool: Pool; stop(): void }

/** One reading. `at` is by `Date.now()`, as browsers say it; a clock that is off is put right on the way. */
export interface Fix extends Place {
  readonly at: number;
  /** m */ readonly acc?: number | null;
  /** m/s */ readonly spd?: number | null;
  /** Degrees clockwise from north. */ readonly hdg?: number | null;
  /** What is left of the phone's, 0 to 1; left out while it is charged. */ readonly battery?: number | null;
}

export interface Ok { readonly type: 'ok'; readonly replyTo: string; readonly job?: string; readonly deadline?: number }

/** What was not done: `code` of PROTOCOL.md, or `network` when nobody could be asked or nobody answered. */
export class EnrouteError extends Error {
  readonly code: string;
  /** The same may succeed later; in so many ms, where that is known. */
  readonly retry: boolean;
  readonly retryInMs?: number;
  /** Of HTTP. */
  readonly status?: number;
  /** What a rider has to do first, with `active_task`. */
  readonly tasks?: readonly string[];
  readonly reason?: string;
}

export interface Events {
  connection: Connection;
  welcome: {readonly session: string; readonly serverTime: number; readonly pingIntervalSeconds: number};
  /** s from one position to the next, from now on; `publish` keeps to it by itself. */
  rate: {readonly intervalSeconds: number};
  proximity: {readonly job: string; readonly state: 'approaching' | 'arrived' | 'left'};
  unavailable: {readonly job: string; readonly text: string; readonly reason?: UnavailableReason};
  /** To riders too, who do not follow: `ended` by `time_limit`. */
  tracking: {readonly job: string; readonly state: Tracking; readonly reason?: EndReason};
  /** Of a location: taken. */
  ok: Ok & {readonly seq?: number};
  /** Nobody waits for it: above all of locations (`replyTo`). */
  error: {readonly replyTo: string; readonly job?: string; readonly code: string; readonly message: string;
    readonly retry: boolean; readonly retryInMs?: number; readonly reason?: string};
  goaway: {readonly retryInMs: number};
  /** The gateway hears nothing from Redis, and hears it again: `connection` says so too. */
  degraded: object;
  restored: object;
  /** The time was asked for. */
  pong: {readonly serverTime: number};
  /** What became of a follow, a job or a zone, as the gateway says it; follows and watches are given what it means. */
  subscribed: {readonly job: string};
  reset: {readonly job: string};
  status: {readonly job: string; readonly status: Status; readonly at: number};
  location: Position;
  eta: Eta & {readonly job: string};
  ended: {readonly job: string; readonly reason: EndReason};
  pool: {readonly zone: string};
  rider: {readonly zone: string; readonly rider: string};
}

export class Enroute {
  constructor(options: EnrouteOptions);
  readonly connection: Connection;
  /** When the gateway was heard last, by `Date.now()`; `null` before it was. What is shown is from then. */
  readonly heardAt: number | null;
  /** The gateway's clock, ms since the epoch. */
  readonly serverTime: number;
  /** Connects, and again after `stopped` or `refused`. */
  start(): void;
  stop(): void;
  /** The network or the app is back, for systems whose events are not a browser's (React Native: AppState, NetInfo). */
  wake(): void;
  on<Type extends keyof Events>(type: Type, listener: (event: Events[Type]) => void): () => void;
  /** A newer token of the same person. @throws EnrouteError, and nothing has changed */
  refresh(token: string): Promise<Ok>;

  follow(job: string, listener?: (view: View, change: Change) => void): Follow;
  /** @param listener is told the change of a rider, or `'pool'`, or `'refused'` */
  watch(zone: string, listener?: (pool: Pool, change: object | 'pool' | 'refused') => void): Watch;

  /** Travel mode on or off. @throws EnrouteError */
  travel(job: string, active: boolean): Promise<Ok>;
  /** For 1 to 10 jobs, in the order of their stops. Waits for a connection, the newest first, and for the pace asked
   * for. */
  publish(jobs: string | readonly string[], fix: Fix): void;
  /** @throws EnrouteError: `active_task` with `tasks`, `forbidden`, `rate_limited`, `network` */
  availability(status: 'online' | 'offline', options?: {device?: string}): Promise<Ok>;
  /** Why there is no position to tell, for a job or for all. @returns whether the gateway knows; never throws */
  reportUnavailable(reason: UnavailableReason, job?: string): Promise<boolean>;
  /** @returns whether the gateway knows; never throws */
  presence(options?: {lat?: number; lon?: number; device?: string}): Promise<boolean>;

  /** A request to the REST interface. @throws EnrouteError with the problem's code */
  rest<Body = unknown>(
    method: string, path: string, options?: {body?: unknown; headers?: Record<string, string>},
  ): Promise<{status: number; headers: Headers; body: Body}>;
}
