// Follows a job with enroute.js and prints each change of the connection and of the status, as `<ms since the epoch> <event>`.
// FreezeReportTests.swift starts it beside the Swift client: `node freeze-report.mjs URL TOKEN JOB`. It ends with the job.

import {Enroute} from '../../Sources/WebAssets/web/enroute.js';
import {Socket} from './socket.mjs';

const [url, token, job] = process.argv.slice(2);
const note = (text) => console.log(`${Date.now()} ${text}`);

const enroute = new Enroute({url: `${url}/v1`, WebSocket: Socket, credential: () => ({token})});
enroute.on('connection', ({state, degraded, silent, close}) => {
  if (state === 'open') note(`open${degraded ? ' degraded' : ''}${silent ? ' silent' : ''}`);
  else note(state === 'waiting' ? `waiting after ${close?.code}` : state);
});
let status = null;
enroute.follow(job, (view) => {
  if (view.status !== status) note(`sees ${view.status}`);
  status = view.status;
  if (view.ended || view.refused) enroute.stop();
});
enroute.start();
