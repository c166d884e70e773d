// What a rider can do next with a job: from its kind, its status and, where the rider has a zone, the state of its
// task. A task moves the order along with it (protocol/rest-and-events.md); without a zone there are no tasks, and the status
// is said itself. Pure, so that Tests/JavaScript/rider-tasks.test.mjs asks for every one of them.

/** Statuses in which a position may be shared: the rider is underway to the customer. */
const UNDERWAY = ['in_transit', 'on_the_way'];

/** Statuses after which there is nothing left to do. */
const OVER = ['delivered', 'completed', 'cancelled'];

const byTask = (verb, isMain = true) => ({verb, isMain, path: 'task', body: {state: verb}});
const byStatus = (verb) => ({verb, isMain: true, path: 'status', body: {status: verb}});

/** Of a delivery by its task: the next step, and what may be skipped to. */
const DELIVERY = {
  accepted: [byTask('arrived_at_store')],
  arrived_at_store: [byTask('picked_up')],
  picked_up: [byTask('in_transit')],
  in_transit: [byTask('completed')],
};

/** Giving a task back is possible until the goods are in the bag. */
export const RETURNABLE = ['accepted', 'arrived_at_store'];

/**
 * @param {{kind: 'delivery'|'service', status: string, task?: string|null}} job `task`: state of the rider's, if any
 * @returns {{verb: string, isMain: boolean, path: 'task'|'status', body: object}[]} the next step first
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

/** An order can be picked up once it is ready; until then the rider is told what it waits for. */
export const isWaitingForVendor = ({kind, status, task = null}) => kind === 'delivery'
  && ['accepted', 'arrived_at_store', null].includes(task)
  && ['pending_vendor_acceptance', 'accepted', 'preparing', 'allocation_failed'].includes(status);

export const allowsTravel = (status) => UNDERWAY.includes(status);
export const isOver = (status) => OVER.includes(status);

/** Where the rider is going now: to the vendor until it has the goods, then to the customer. */
export function headingFor({kind, status, task = null}) {
  if (kind === 'service' || ['picked_up', 'in_transit'].includes(task)) return 'destination';
  return status === 'in_transit' ? 'destination' : 'vendor';
}

/**
 * Jobs as they are listed: underway first, then in the order in which they came.
 * @param {{job: string, status?: string}[]} jobs
 */
export const inOrder = (jobs) => [
  ...jobs.filter((job) => allowsTravel(job.status)), ...jobs.filter((job) => !allowsTravel(job.status)),
];
