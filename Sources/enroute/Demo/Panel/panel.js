// The panel asks once a second what there is to show, and tells the demonstration what its buttons say.

const element = (id) => document.getElementById(id);
const EVERY = 1_000;   // ms

async function ask(path, body) {
  try {
    const answer = await fetch(path, body === undefined ? {} : {
      method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body),
    });
    if (answer.status === 409) {
      element('trouble').textContent = 'One gateway is beginning again: wait until both serve.';
      return null;
    }
    if (!answer.ok) throw new Error(`${path} was answered ${answer.status}.`);
    element('trouble').textContent = '';
    return answer.status === 204 ? null : await answer.json();
  } catch (error) {
    element('trouble').textContent = `The demonstration does not answer. ${error.message}`;
    return null;
  }
}

const ms = (value) => value === undefined || value === null ? '–' : `${value} ms`;

function show(state) {
  if (!state) return;
  // Told to a screen reader only when it changed.
  if (element('plot').textContent !== state.plot) element('plot').textContent = state.plot;
  if (document.activeElement !== element('speed')) element('speed').value = state.speed;
  element('speed-value').textContent = `× ${state.speed}`;
  for (const radio of document.getElementsByName('unavailableReason')) radio.checked = radio.value === (state.unavailableReason ?? '');
  element('redis').textContent = `restarted ${state.redisRestarts} times`;
  element('gateways').textContent = `${state.gatewaysUp} serve, killed ${state.gatewayKills} times`;
  element('p50').textContent = ms(state.p50Ms);
  element('p95').textContent = ms(state.p95Ms);
  element('measured').textContent = state.measured;
}

element('speed').addEventListener('input', async (event) => show(await ask('/set', {speed: Number(event.target.value)})));
for (const radio of document.getElementsByName('unavailableReason')) {
  radio.addEventListener('change', async () => show(await ask('/set', {unavailableReason: radio.value})));
}
for (const id of ['restart-redis', 'kill-gateway']) element(id).addEventListener('click', () => ask(`/${id}`, {}));

const look = async () => show(await ask('/state'));
setInterval(look, EVERY);
look();
