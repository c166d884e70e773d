// What has happened so far: the time of each step, the origin of the order, and who delivered it. The server renders it into
// the page beside the snapshot; messages add to it while the page is open. Nothing here uses a document or a clock.

/** Statuses of a job that was done. */
export const DONE = ['delivered', 'completed'];
/** Statuses with which a job ends. */
export const OVER = [...DONE, 'cancelled'];

export class Story {
  /** When each status started, ms since the epoch by the gateway's clock. */
  times = {};
  /** Where the order comes from: `{lat, lon}`. */
  shop = null;
  /** The name of the rider who is coming, or came. */
  rider = null;
  /** The order number. The last state of a link does not contain it. */
  order = null;
  /** What the customer may do: `{note?, cancelFrom?, tag?}`, or null. */
  can = null;
  /** Until when the order was promised, if the page has admitted that it comes later. */
  admitted = null;
  /** Whether the above came from the gateway: neither messages nor a cached page contain `shop` and `can`. */
  isRead = false;
  #status = null;

  /**
   * Takes the values that the server rendered: `{times?, shop?, rider?, can?}`. Values from messages are newer. @param isFresh
   * not cached
   */
  read({times = {}, shop = null, rider = null, can = null} = {}, isFresh = true) {
    this.times = {...times, ...this.times};
    if (!isFresh) return;
    this.shop = shop ?? this.shop;
    this.rider ??= rider;
    [this.can, this.isRead] = [can, true];
  }

  /** Shows a view. @returns whether the job was just completed while the customer was watching */
  take(view) {
    if (!view.known) return false;
    const before = this.#status;
    this.#status = view.status;
    if (view.statusAt) this.times = {...this.times, [view.status]: view.statusAt};
    for (const {status, at} of view.missed ?? []) this.times[status] ??= at;
    // The card is removed when the job ends. A reassignment brings another one.
    this.order = view.display?.orderNumber ?? this.order;
    if (view.riderCard) this.rider = view.riderCard.name ?? null;
    return before !== null && !DONE.includes(before) && DONE.includes(view.status);
  }

  /** Clears everything when the job is no longer shared. */
  forget() {
    [this.times, this.shop, this.rider, this.can, this.#status] = [{}, null, null, null, null];
    [this.order, this.isRead] = [null, false];
  }
}
