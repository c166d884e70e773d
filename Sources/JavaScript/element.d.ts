// Types of `@enroute/client/element`: the web component `<enroute-job>`. Importing it registers nothing.

import type {Connection, Credential, Enroute, View} from './enroute.js';

/**
 * Shows a job's status, arrival time and tracking state as text. Attributes: `job`, with `gateway` and `token` or `link`; or
 * only `link`, with the whole address of a tracking link. `lang` of the element or an ancestor is the language.
 *
 * Style its parts: `enroute-job::part(status)`, `tracking`, `arrival`, `updated`, `note`.
 */
export class EnrouteJob extends HTMLElement {
  static observedAttributes: string[];
  /** A client of the app, instead of a connection for this element alone. The app starts and stops it. */
  client: Enroute | null;
  /** Returns a credential, instead of the attributes `token` and `link`; called for each connection and request. */
  credential: (() => Promise<Credential | null> | Credential | null) | null;
  /** What is known of the job. */
  readonly view: View;
}

/**
 * Registers the element under a name, by default `enroute-job`. Calling it again changes nothing, and neither does a call on a
 * server. A page can register the class only once.
 */
export function defineEnrouteJob(name?: string): typeof EnrouteJob;

declare global {
  interface HTMLElementTagNameMap {
    'enroute-job': EnrouteJob;
  }
  interface HTMLElementEventMap {
    'enroute-change': CustomEvent<{readonly view: View; readonly connection: Connection}>;
  }
}
