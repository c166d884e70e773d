// The demo's control panel: polls the state of the demo once a second and sends what the buttons ask for.

const element = (id) => document.getElementById(id);
const POLL_INTERVAL = 1_000;   // ms

async function ask(path, body) {
  try {
    const answer = await fetch(path, body === undefined ? {} : {
      method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body),
    });
    if (answer.status === 409) {
      element('trouble').textContent = 'One gateway is restarting. Try again in a moment.';
      return null;
    }
    if (!answer.ok) throw new Error(`${path} returned ${answer.status}.`);
    element('trouble').textContent = '';
    return answer.status === 204 ? null : await answer.json();
  } catch (error) {
    element('trouble').textContent = `The demo isn’t responding. ${error.message}`;
    return null;
  }
}

const times = (what, count) => (count === 0 ? `never ${what}` : count === 1 ? `${what} once` : `${what} ${count} times`);
const ms = (value) => value === undefined || value === null ? '–' : `${value} ms`;

function show(state) {
  if (!state) return;
  // Writing the same text again would make a screen reader repeat it.
  if (element('plot').textContent !== state.plot) element('plot').textContent = state.plot;
  if (document.activeElement !== element('speed')) element('speed').value = state.speed;
  element('speed-value').textContent = `× ${state.speed}`;
  for (const radio of document.getElementsByName('unavailableReason')) {
    radio.checked = radio.value === (state.unavailableReason ?? '');
  }
  element('redis').textContent = times('restarted', state.redisRestarts);
  element('gateways').textContent = `${state.gatewaysUp} running, ${times('killed', state.gatewayKills)}`;
  element('p50').textContent = ms(state.p50Ms);
  element('p95').textContent = ms(state.p95Ms);
  element('measured').textContent = `last ${state.measured} position${state.measured === 1 ? '' : 's'}`;
}

element('speed').addEventListener('input', async (event) => show(await ask('/set', {speed: Number(event.target.value)})));
for (const radio of document.getElementsByName('unavailableReason')) {
  radio.addEventListener('change', async () => show(await ask('/set', {unavailableReason: radio.value})));
}
for (const id of ['restart-redis', 'kill-gateway']) element(id).addEventListener('click', () => ask(`/${id}`, {}));

const poll = async () => show(await ask('/state'));
setInterval(poll, POLL_INTERVAL);
poll();
