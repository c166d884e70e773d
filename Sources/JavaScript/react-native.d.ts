// Types of `@enroute/client/react-native`: reports of a rider's position while the app is in the background.

import type {Credential, EnrouteError, Fix, UnavailableReason} from './enroute.js';

export {EnrouteError} from './enroute.js';

export interface BackgroundOptions {
  /** Address of the gateway: `https://track.example`. A path prefix is fine. */
  gateway: string;
  /**
   * Returns the rider's credential. Called for each request, also when the system started the app in the background. If it
   * does not return within 15 s, the request fails with `network` and is repeated.
   */
  credential: () => Promise<Credential | null> | Credential | null;
  /**
   * Storage in which jobs, pace and unsent fixes outlive the app, for example AsyncStorage. Without it, call `setJobs` after
   * each start. It contains at most 20 fixes of the last 55 s: use storage that other apps cannot read.
   */
  storage?: {load(): Promise<string | null | undefined>; save(text: string): Promise<unknown>};
  /**
   * Names the phone, 1 to 64 of `[A-Za-z0-9_-]`: the same name as that of the `Enroute` that switches travel mode on. The
   * rider's other devices are refused with `other_device`.
   */
  device?: string;
  /** Called after each request with its outcome. */
  onOutcome?: (outcome: Outcome) => void;
  /** Called when the storage fails. Reporting continues without it. */
  onStorageError?: (error: unknown) => void;
  fetch?: typeof fetch;
  /** The wall clock in ms since the epoch. Default: `Date.now()`. */
  wall?: () => number;
  random?: () => number;
  timers?: {setTimeout(action: () => void, delay: number): unknown; clearTimeout(timer: unknown): void};
}

/** The outcome of a report. */
export interface Outcome {
  /** Whether a report was sent and answered. `false` without `error`: none was due, or there is nothing to report. */
  readonly sent: boolean;
  /** Jobs for which a location was published. */
  readonly accepted: readonly string[];
  /** Jobs for which the next report decides whether this location is plausible. */
  readonly held: readonly string[];
  /** Jobs that already have a location that is at least as new. */
  readonly stale: readonly string[];
  /**
   * Jobs for which the gateway refused the report, and the error code. After `other_device` and `travel_mode_off`, the reporter
   * stops for that job, and `jobs` no longer contains it: call `setJobs` when the rider switches travel mode on again.
   */
  readonly refused: readonly {readonly job: string; readonly code: string; readonly reason?: string}[];
  /**
   * Why there is no response, or why all jobs were refused. `not_found` means that the job is not visible to this rider: call
   * `setJobs` without it.
   */
  readonly error: EnrouteError | null;
  /** Number of fixes that wait for the next report. */
  readonly waiting: number;
}

/** Reports over REST: the newest fixes first, at the pace that the gateway asks for, one request at a time. */
export class BackgroundReporter {
  constructor(options: BackgroundOptions);
  /** The jobs to report for, in the order of their stops. Empty until the storage is read. */
  readonly jobs: readonly string[];
  /** Seconds between two reports that the gateway asks for, 1 to 20. Configure the location library with it. */
  readonly intervalSeconds: number;
  /** Number of fixes that wait for the next report. */
  readonly waiting: number;
  /**
   * Sets the jobs to report for: at most 10, in the order of their stops. An empty list stops reporting and deletes the
   * waiting fixes.
   *
   * @param options `clockOffset`: the gateway's clock minus `Date.now()`, from `enroute.serverTime`, for phones whose clock is
   *     wrong. Each response to a report corrects it
   */
  setJobs(jobs: readonly string[], options?: {clockOffset?: number}): Promise<void>;
  /** Stores fixes and reports if a report is due. Never rejects, because the system ends tasks that fail. */
  report(fixes: Fix | readonly Fix[]): Promise<Outcome>;
  /** Reports the waiting fixes, if a report is due. */
  flush(): Promise<Outcome>;
  /** Explains to followers of all jobs why there is no location. @returns whether the gateway accepted it for all of them */
  explain(reason: UnavailableReason): Promise<boolean>;
}

// ---- expo-location ----

/** A location of expo-location (`LocationObject`). */
export interface ExpoLocation {
  readonly coords: {
    readonly latitude: number; readonly longitude: number; readonly accuracy: number | null; readonly speed: number | null;
    readonly heading: number | null;
  };
  readonly timestamp: number;
}

/** The body of a task of expo-task-manager. */
export interface ExpoTaskBody {
  readonly data?: unknown;
  readonly error?: {readonly code?: string | number; readonly message?: string} | null;
}

/** Returns the fixes of an event or a location. */
export function fixesOfExpo(data: {readonly locations: readonly ExpoLocation[]} | ExpoLocation): Fix[];

/** Returns the function for `TaskManager.defineTask`. */
export function expoTask(reporter: BackgroundReporter): (body: ExpoTaskBody) => Promise<Outcome | boolean>;

// ---- react-native-background-geolocation ----

/** A location of react-native-background-geolocation. */
export interface BackgroundGeolocationLocation {
  readonly coords: {
    readonly latitude: number; readonly longitude: number; readonly accuracy?: number; readonly speed?: number;
    readonly heading?: number;
  };
  /** ISO 8601, or ms since the epoch. */
  readonly timestamp: string | number;
  readonly battery?: {readonly level: number; readonly is_charging: boolean};
  readonly sample?: boolean;
}

/** Returns the fix of a location, for `onLocation`. */
export function fixOfBackgroundGeolocation(location: BackgroundGeolocationLocation): Fix;

/**
 * Returns the function for `registerHeadlessTask`. It reports `location` and `heartbeat`, explains `providerchange`, and
 * returns `null` for other events.
 */
export function backgroundGeolocationTask(
  reporter: BackgroundReporter,
): (event: {readonly name: string; readonly params?: any}) => Promise<Outcome | boolean | null>;
