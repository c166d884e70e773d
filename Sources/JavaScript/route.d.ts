// Types of `@enroute/client/route`: the route ahead of a rider, to draw it and to move a marker along it.

import type {Place, RemainingRoute} from './enroute.js';

/** Maximum number of characters and of places of a route. A longer one counts as malformed. */
export const LONGEST_ROUTE: number;
export const MOST_PLACES: number;
/** A rider who is farther from the route than this, in m, has left it. */
export const LEFT_ROUTE: number;

/** Decodes Google's encoded polyline with 5 decimals; null for anything else. */
export function decodePolyline(polyline: unknown): Place[] | null;

/** A line on the map with lengths. */
export class Route {
  /** @param places at least two */
  constructor(places: readonly Place[]);
  /** Returns the route of `view.eta.route`; null without one, and for one that cannot be read. */
  static of(route: RemainingRoute | null | undefined): Route | null;
  /** Length in m. */
  readonly meters: number;
  readonly places: readonly Place[];
  /** Returns the nearest point: m from the start, m away from the place, and the direction of the route in degrees. */
  find(place: Place, near?: number | null): {along: number; away: number; heading: number};
  /** Returns the place that is `along` m from the start, and the direction of the route there. */
  at(along: number): Place & {heading: number};
  /** Returns the places from `along` m to the end. */
  from(along: number): Place[];
}

/** Moves a place along a route by meters; null if the place is not on the route. */
export function advance(route: Route, place: Place, meters: number): (Place & {heading: number}) | null;
