// The next steps of a rider, from the kind and status of a job and, for riders with a zone, the state of the task. A task
// changes the order's status too; riders without a zone have no tasks and change the status itself. Pure functions;
// Tests/JavaScript/rider-tasks.test.mjs tests every case.

/** Statuses in which the location may be shared. */
const UNDERWAY = ['in_transit', 'on_the_way'];

/** Final statuses. */
const OVER = ['delivered', 'completed', 'cancelled'];

/** The job's name for people: its order number, if the service wrote one. `number` is the last one: the end removes it. */
export const numberOf = ({job, view, number}) => view?.display?.orderNumber ?? number ?? job;

/** Whether a step ends a job, so that the rider confirms it and can undo it for a moment. */
export const isFinal = (verb) => ['completed', 'delivered'].includes(verb);

const byTask = (verb, isMain = true) => ({verb, isMain, path: 'task', body: {state: verb}});
const byStatus = (verb) => ({verb, isMain: true, path: 'status', body: {status: verb}});

/** The next steps of a delivery, by the state of its task. */
const DELIVERY = {
  accepted: [byTask('arrived_at_store')],
  arrived_at_store: [byTask('picked_up')],
  picked_up: [byTask('in_transit')],
  in_transit: [byTask('completed')],
};

/** States of a delivery task, in order. `delivered` follows them. */
export const TASK_STATES = Object.keys(DELIVERY);

/** Task states in which a task can be returned: before the goods are picked up. */
export const RETURNABLE = ['accepted', 'arrived_at_store'];

/**
 * Returns the steps that the rider can take.
 * @param {{kind: 'delivery'|'service', status: string, task?: string|null}} job `task`: the state of the task, if any
 * @returns {{verb: string, isMain: boolean, path: 'task'|'status', body: object}[]} the main step first
 */
export function verbsOf({kind, status, task = null}) {
  if (OVER.includes(status)) return [];
  if (kind === 'delivery') {
    if (task) return [...DELIVERY[task] ?? [], ...RETURNABLE.includes(task) ? [byTask('cancelled', false)] : []];
    if (status === 'ready_for_pickup') return [byStatus('in_transit')];
    return status === 'in_transit' ? [byStatus('delivered')] : [];
  }
  switch (status) {
    case 'assigned': return task ? [byTask('in_transit'), byTask('cancelled', false)] : [byStatus('on_the_way')];
    case 'on_the_way': return [byStatus('work_in_progress')];
    case 'work_in_progress': return task ? [byTask('completed')] : [byStatus('completed')];
    default: return [];
  }
}

/** Whether the rider waits for the vendor, because the order is not ready for pickup. */
export const isWaitingForVendor = ({kind, status, task = null}) => kind === 'delivery'
  && ['accepted', 'arrived_at_store', null].includes(task)
  && ['pending_vendor_acceptance', 'accepted', 'preparing', 'allocation_failed'].includes(status);

export const allowsTravel = (status) => UNDERWAY.includes(status);
/** Whether a step starts the trip to the customer, who then sees the rider. */
export const startsJourney = (verb) => UNDERWAY.includes(verb);
export const isOver = (status) => OVER.includes(status);

/** Where the rider is heading: to the vendor until the pickup, then to the customer. */
export function headingFor({kind, status, task = null}) {
  if (kind === 'service' || ['picked_up', 'in_transit'].includes(task)) return 'destination';
  return status === 'in_transit' ? 'destination' : 'vendor';
}

/** The tasks in the order in which the rider needs their cards: those that are closest to their end first. */
export const inOrder = (tasks) => [...tasks].sort(
  (one, other) => TASK_STATES.indexOf(other.state) - TASK_STATES.indexOf(one.state));
