// Prints what the customer's page shows of generated rides as JSON, for tracking.py.

import {shown} from '../Tests/JavaScript/town-ride.mjs';
import {Movement} from '../Sources/WebAssets/web/track-movement.js';

const rides = [];
for (const interval of [1_000, 2_000, 3_000, 5_000]) {
  for (const [vehicle, top, tells] of [
    ['walker', 1.3, true], ['bicycle', 5, true], ['car', 11, true], ['car without spd', 11, false], ['fast car', 25, true],
  ]) rides.push({vehicle, interval, ...shown(() => new Movement(), {interval, top, tells})});
}
console.log(JSON.stringify(rides));
