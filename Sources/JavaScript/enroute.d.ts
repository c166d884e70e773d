// Types of enroute.js. All times are in ms. `at`, `received`, `statusAt` and `arrivesAt` count from the epoch by the gateway's
// clock. The guide is enroute-js.md in Sources/WebAssets of the repository.

export interface EnrouteOptions {
  /**
   * The gateway (`https://host`), its WebSocket (`wss://host/v1`, below a path prefix `wss://host/prefix/v1`), or a path that
   * begins with `/`. Default: `/v1`.
   */
  url?: string;
  /**
   * Returns the credential. It is called for each connection and each request, so it can return a fresh token. `null` means
   * that nobody is signed in: the connection is refused. If it throws or does not return within 15 s, the client tries again
   * later.
   */
  credential: () => Promise<Credential | null> | Credential | null;
  /** Base address of the REST API. Default: `/api/v1` beside the `/v1` of `url`, otherwise on its host. */
  rest?: string;
  /**
   * Highest plausible speed in m/s; faster positions are not shown. Default: 60. Raise it for trips replayed in fast motion.
   */
  fastest?: number;
  /**
   * Names this device, 1 to 64 of `[A-Za-z0-9_-]`. Of several devices of a rider, the one that last switched travel mode on
   * reports. Store it across launches to be able to resume. Default: a new name.
   */
  device?: string;
  /** A class like the browser's `WebSocket`, for environments without one (Node 18 and 20). */
  WebSocket?: unknown;
  fetch?: typeof fetch;
  /** A monotonic clock, which never goes back, in ms. Default: `performance.now()`. */
  now?: () => number;
  /** The wall clock in ms since the epoch. Default: `Date.now()`. */
  wall?: () => number;
  random?: () => number;
  timers?: {setTimeout(action: () => void, delay: number): unknown; clearTimeout(timer: unknown): void};
}

export type Credential = {token: string} | {link: string};

export interface Connection {
  /**
   * `waiting`: disconnected; the client reconnects at `retryAt`, or when the device is online again. A `close` code of 4009
   * means that the session limit is reached. `refused`: reconnecting would not help; sign in again or fix the request.
   */
  readonly state: 'connecting' | 'open' | 'waiting' | 'refused' | 'stopped';
  /** The gateway has lost Redis: what is shown may be out of date. */
  readonly degraded: boolean;
  /**
   * The connection is open, but the gateway is overdue and did not answer a ping within 4 s. What is shown may be out of date
   * until the next message.
   */
  readonly silent?: boolean;
  /** Time of the next attempt, by `Date.now()`. */
  readonly retryAt?: number;
  /**
   * Why the last connection closed: a close code of the protocol and its reason. With 1006, Node and React Native name the
   * cause, such as an unknown host.
   */
  readonly close?: {readonly code: number; readonly reason: string};
}

export type Tracking = 'waiting' | 'live' | 'stale' | 'paused' | 'arrived' | 'ended';
export type EndReason = 'arrived' | 'deactivated' | 'time_limit' | 'completed' | 'cancelled' | 'revoked' | 'reassigned';
export type Status =
  | 'pending_vendor_acceptance' | 'accepted' | 'preparing' | 'ready_for_pickup' | 'in_transit' | 'delivered'
  | 'allocation_failed' | 'assigned' | 'on_the_way' | 'work_in_progress' | 'completed' | 'cancelled';
export type UnavailableReason =
  | 'no_fix' | 'permission_denied' | 'services_disabled' | 'hidden' | 'low_battery' | 'navigation_handoff' | 'network'
  | 'mocked' | 'unknown';

/** Degrees, WGS 84. */
export interface Place { readonly lat: number; readonly lon: number }

export interface Position extends Place {
  /** 16 digits; a later position has a greater id. */
  readonly id: string;
  readonly at: number;
  readonly received: number;
  readonly job: string;
  /** Accuracy radius in m. */ readonly acc?: number;
  /** Speed in m/s. */ readonly spd?: number;
  /** Heading in degrees clockwise from north. */ readonly hdg?: number;
  /** The gateway moved the place to a street. */ readonly snapped?: boolean;
}

export interface Eta {
  readonly state: 'ok' | 'recalculating' | 'unavailable';
  readonly arrivesAt?: number;
  /** Seconds from `at` to the arrival. */ readonly seconds?: number;
  readonly source?: string;
  readonly confidence?: 'low' | 'medium' | 'high';
  readonly at: number;
  /** Number of stops before this one. */ readonly stopsBefore?: number;
  /** 80 % of such riders arrive between `earliestAt` and `latestAt`; both or neither. */ readonly earliestAt?: number;
  readonly latestAt?: number;
  /** The route ahead, if it is known; see `@enroute/client/route`. */ readonly route?: RemainingRoute;
}

/** The route along streets from the rider to the destination. */
export interface RemainingRoute {
  /** Google's encoded polyline with 5 decimals. */ readonly polyline: string;
  readonly meters: number;
  /** To travel along it, without time at stops. */ readonly seconds: number;
}

export interface Step {
  readonly status: Status;
  readonly state: 'complete' | 'active' | 'upcoming' | 'cancelled';
}

/** Who is coming. Show it as text: the service writes it. */
export interface RiderCard {
  readonly name?: string;
  /** An https URL. */ readonly photo?: string;
  readonly vehicle?: 'foot' | 'bicycle' | 'cargo_bike' | 'moped' | 'car' | 'van' | 'truck';
  /** The registration plate. */ readonly plate?: string;
  /** A `tel:` or `https:` URI of the service's relay. */ readonly contact?: string;
}

/** Whom the rider delivers to or visits. Show it as text: the service writes it. */
export interface Recipient {
  readonly name?: string;
  readonly address?: string;
  /** Floor, flat or entrance. */ readonly floor?: string;
  /** A `tel:` or `https:` URI. */ readonly contact?: string;
}

/** Details of a job that the service writes for its followers. */
export interface Display {
  readonly orderNumber?: string;
  readonly vehicle?: 'foot' | 'bicycle' | 'cargo_bike' | 'moped' | 'car' | 'van' | 'truck';
  readonly items?: readonly string[];
  /** May have several lines. */ readonly note?: string;
  /** When the customer was promised it. */ readonly window?: {readonly from: number; readonly until: number};
}

/** What a follower sees of one job. Frozen; each change creates a new view. */
export interface View {
  readonly job: string;
  /** Whether a snapshot was received. Until then the other members have their defaults. */
  readonly known: boolean;
  readonly kind: 'delivery' | 'service' | null;
  readonly status: Status | null;
  readonly statusAt: number | null;
  readonly steps: readonly Step[];
  readonly tracking: Tracking;
  readonly reason: EndReason | null;
  /** Key of the tracking text in `GET /api/v1/texts`, under `tracking`. */
  readonly text: string | null;
  /** Key of the text that explains why no new location arrives; shown with `stale` and `waiting`. */
  readonly unavailable: string | null;
  readonly proximity: 'approaching' | 'arrived' | 'left' | null;
  /** The position to draw; `null` when none may be shown. */
  readonly position: Position | null;
  /** When it was received, by the monotonic clock `now`. */
  readonly positionReceivedAt: number | null;
  /** The same by `Date.now()`. Use the greater of the two ages: the monotonic clock may stop while a phone sleeps. */
  readonly positionReceivedAtWall: number | null;
  readonly destination: Place | null;
  /** The vendor's name, where the viewer may see it. */
  readonly vendor: string | null;
  /** The vendor's address as the order system wrote it. */
  readonly vendorAddress: string | null;
  /** Who is coming; `null` when nobody is, when the rider has no card, and once the job has ended. */
  readonly riderCard: RiderCard | null;
  readonly display: Display | null;
  /** The customer's note for the rider; null for customers and link viewers. */
  readonly customerNote: string | null;
  /** Whom the rider delivers to or visits; null for customers and link viewers, and for the rider once the job has ended. */
  readonly recipient: Recipient | null;
  /** Only for services and operations staff. */
  readonly metadata: {readonly [name: string]: string} | null;
  readonly geocoding: 'ok' | 'low' | 'none' | null;
  readonly eta: Eta | null;
  /** Why following ended; `null` while it continues. */
  readonly ended: EndReason | null;
  /** Why the gateway refused to let this session follow the job. */
  readonly refused: {readonly code: string; readonly message: string} | null;
  /** Identifies this record of the job's statuses. Another value means that the log started again. Do not interpret it. */
  readonly epoch: string | null;
  /** Id of the newest status. */
  readonly id: string | null;
  /** When the rider last reported a position, if it is too old to be shown: ms since the epoch, by the gateway's clock. */
  readonly lastSeenAt: number | null;
  readonly travelDeadline: number | null;
  /** The gateway's clock minus `Date.now()`, in ms. */
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
  /** This and the following members are known only of riders that changed while the zone was watched. */
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
  /** Number of riders who can be assigned a task, whether listed in `riders` or not. */
  readonly count: number;
  readonly refused: {readonly code: string; readonly message: string} | null;
}

export interface Watch { readonly pool: Pool; stop(): void }

/** One reading of the phone's receiver. `at` is by `Date.now()`, which the client corrects, or by a clock that is right. */
export interface Fix extends Place {
  readonly at: number;
  /** Accuracy radius in m. */ readonly acc?: number | null;
  /** Speed in m/s. */ readonly spd?: number | null;
  /** Heading in degrees clockwise from north. */ readonly hdg?: number | null;
  /** Android reports that an app provides a fake reading. The gateway refuses it. */ readonly mock?: boolean | null;
  /** Battery level, 0 to 1; omit it while the phone is charging. */ readonly battery?: number | null;
}

export interface Ok { readonly type: 'ok'; readonly replyTo: string; readonly job?: string; readonly deadline?: number }

/**
 * Why a request failed. `code` is an error code of the protocol, or `network` if the gateway could not be reached or did not
 * respond, or the app's `credential` did not return. A redirect, or a page instead of JSON, does not come from a gateway.
 */
export class EnrouteError extends Error {
  readonly code: string;
  /** Whether the same request may succeed later. */
  readonly retry: boolean;
  /** When to retry, in ms, if the gateway said so. */
  readonly retryInMs?: number;
  /** The HTTP status. */
  readonly status?: number;
  /** With `active_task`: the tasks that the rider must finish or return first. */
  readonly tasks?: readonly string[];
  readonly reason?: string;
}

export interface Events {
  connection: Connection;
  welcome: {readonly session: string; readonly serverTime: number; readonly pingIntervalSeconds: number};
  /** The reporting interval that the gateway asks for, in seconds. `publish` follows it automatically. */
  rate: {readonly intervalSeconds: number};
  proximity: {readonly job: string; readonly state: 'approaching' | 'arrived' | 'left'};
  unavailable: {readonly job: string; readonly text: string; readonly reason?: UnavailableReason};
  /** Riders receive this too: `ended` with the reason `time_limit` when their sharing time is over. */
  tracking: {readonly job: string; readonly state: Tracking; readonly reason?: EndReason};
  /** The gateway accepted a request; `replyTo` is its type. `seq` is the number of an accepted location report. */
  ok: Ok & {readonly seq?: number};
  /** An error that no promise reports, above all a refused location report; `replyTo` is the type of the refused message. */
  error: {readonly replyTo: string; readonly job?: string; readonly code: string; readonly message: string;
    readonly retry: boolean; readonly retryInMs?: number; readonly reason?: string};
  goaway: {readonly retryInMs: number};
  /** The gateway lost Redis, and reached it again. `connection.degraded` shows the same. */
  degraded: object;
  restored: object;
  /** The answer to a ping. */
  pong: {readonly serverTime: number};
  /** The protocol's messages about jobs and zones, unchanged. `follow` and `watch` turn them into views and pools. */
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
  /** When the last message arrived, by `Date.now()`; `null` before the first. What is shown is from that time. */
  readonly lastMessageAt: number | null;
  /** The gateway's time, in ms since the epoch. */
  readonly serverTime: number;
  /** Connects; also after `stop()` and after the connection was refused. The next snapshots show again what a refusal hid. */
  start(): void;
  /** Disconnects and stays disconnected. Views keep their last state. */
  stop(): void;
  /**
   * Reconnects or checks the connection immediately. Call it when the network or the app is back, where no browser event says
   * so (React Native).
   */
  wake(): void;
  /** Adds a listener. @returns a function that removes it */
  on<Type extends keyof Events>(type: Type, listener: (event: Events[Type]) => void): () => void;
  /**
   * Replaces the session's token with a newer one of the same person. The client does this by itself before a JWT expires.
   * @throws EnrouteError; the old token then stays in use
   */
  refresh(token: string): Promise<Ok>;

  /**
   * Follows a job. The listener is called with each new view, and with the current one if the job is followed already. If the
   * connection was refused, that is the first view.
   */
  follow(job: string, listener?: (view: View, change: Change) => void): Follow;
  /**
   * Watches a zone's pool of riders. @param listener receives the pool and what changed: a rider's change, `'pool'` or
   * `'refused'` @throws EnrouteError if the zone is not 1 to 64 letters, digits, `_` and `-`
   */
  watch(zone: string, listener?: (pool: Pool, change: object | 'pool' | 'refused') => void): Watch;

  /**
   * Switches travel mode of a job on or off. The device that switched it on last reports. The others receive the code
   * `other_device` once, and their `publish` ignores the job until they switch it on again. After a reconnect, the client
   * resumes the travel modes that it switched on, until the gateway refuses that or the followed job ends. A request that
   * could not be sent without a connection does not start later.
   *
   * @param options.resume continues only what this device started, for example after the app was restarted; with
   *     `active: false`, it ends only that. Set it for actions that the rider took earlier, without a connection.
   * @throws EnrouteError; with `resume`, `other_device` if another device took over meanwhile, and `travel_mode_off` if travel
   *     mode was switched off meanwhile or never was on
   */
  travel(job: string, active: boolean, options?: {resume?: boolean}): Promise<Ok>;
  /**
   * Queues a position for 1 to 10 jobs, in the order of their stops. The client sends the newest positions first, once it is
   * connected and no faster than the gateway asks for.
   */
  publish(jobs: string | readonly string[], fix: Fix): void;
  /**
   * Sets the rider online or offline. @throws EnrouteError: `active_task` with `tasks`, `forbidden`, `rate_limited`,
   * `network`
   */
  availability(status: 'online' | 'offline', options?: {device?: string}): Promise<Ok>;
  /**
   * Reports why there is no position, for one job or for all. After a reconnect, the client reports it again for the jobs that
   * it resumes, until the next `publish`. Never throws. @returns whether the gateway accepted it
   */
  reportUnavailable(reason: UnavailableReason, job?: string): Promise<boolean>;
  /** Sends a heartbeat of a rider who is online, with a rough place. Never throws. @returns whether the gateway accepted it */
  presence(options?: {lat?: number; lon?: number; device?: string}): Promise<boolean>;

  /** Sends a request to the REST API. @throws EnrouteError with the code of the problem document */
  rest<Body = unknown>(
    method: string, path: string, options?: {body?: unknown; headers?: Record<string, string>},
  ): Promise<{status: number; headers: Headers; body: Body}>;
}
