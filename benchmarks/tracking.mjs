// Prints what the customer's page shows of rides as JSON, for tracking.py: of generated rides with a constant interval,
// and of rides at the interval that the gateway requests (`tracking.mjs rides.json`, written by TrackingFigureTests).

import {readFileSync} from 'node:fs';
import {asked, shown} from '../Tests/JavaScript/town-ride.mjs';
import {Movement} from '../Sources/WebAssets/web/track-movement.js';

const rides = [];
for (const interval of [1_000, 2_000, 3_000, 5_000]) {
  for (const [vehicle, top, tells] of [
    ['walker', 1.3, true], ['bicycle', 5, true], ['car', 11, true], ['car without spd', 11, false], ['fast car', 25, true],
  ]) rides.push({vehicle, interval, ...shown(() => new Movement(), {interval, top, tells})});
}
const [path] = process.argv.slice(2);
const gateway = path
  ? JSON.parse(readFileSync(path)).map((ride) => ({
    name: ride.name, interval: ride.interval, ...asked(() => new Movement(), ride)}))
  : [];
console.log(JSON.stringify({rides, gateway}));
