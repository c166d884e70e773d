// The text for each stop in the list, and the one next action. It applies to all tasks that are picked up at the same place,
// so that the rider does not have to tap three times at one counter.

import {listed} from './page-lists.js';
import {mayBeFirst} from './rider-stops.js';
import {isFinal, isWaitingForVendor, numberOf, verbsOf} from './rider-tasks.js';

/** The step that all tasks of a stop take together; null for a single task, whose card has the button. */
function actionOf({kind, jobs}, words) {
  if (kind !== 'pickup' || jobs.length < 2) return null;
  const steps = jobs.map((job) => {
    const state = {kind: job.view.kind, status: job.view.status, task: job.task};
    const step = verbsOf(state).find(({isMain}) => isMain);
    return {job: job.job, name: numberOf(job), step, isReady: step?.verb !== 'picked_up' || !isWaitingForVendor(state), isBusy: Boolean(job.busy)};
  });
  // The tasks may be at different steps: the earliest steps come first.
  const verb = ['arrived_at_store', 'picked_up'].find((each) => steps.some(({step}) => step?.verb === each));
  const taken = steps.filter(({step}) => step?.verb === verb && !isFinal(step.verb));
  const ready = taken.filter(({isReady, isBusy}) => isReady && !isBusy);
  if (!verb || taken.length < 2) return null;
  return {
    verb, jobs: ready, isHeld: ready.length === 0, text: ready.length === 1 ? `${words.verbs[verb]} · ${ready[0].name}` : words.forAll(words.verbs[verb], ready.length || taken.length),
  };
}

/** @param stops in order, as `StopOrder.of` returns them */
export const describedStops = (stops, words) => stops.map((stop, at) => {
  const {kind, jobs: [first]} = stop;
  const {view, names} = first;
  const vendor = view.vendor ?? names?.vendor;
  const named = numberOf(first);
  const title = {
    pickup: () => (vendor ? words.pickUpAt(vendor) : words.pickUpAnywhere), drop: () => words.deliver(named), visit: () => words.visit(named),
  }[kind]();
  const jobs = stop.jobs.map(numberOf).join(', ');
  const {name, address} = view.recipient ?? {};
  const detail = listed(kind === 'pickup' ? [view.vendorAddress, jobs] : [name, address], ' · ');
  return {...stop, title, detail, canBeFirst: mayBeFirst(stop), action: at === 0 ? actionOf(stop, words) : null};
});
