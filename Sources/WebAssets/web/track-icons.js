// The drawings of the customer's page as SVG. The style sheet sets their colors. They differ in shape and not only in
// color: a vehicle or a walker, a house, a tick, a ring, a cross, a triangle.

const svg = (box, width, body, height = width) =>
  `<svg viewBox="${box}" width="${width}" height="${height}" aria-hidden="true">${body}</svg>`;
const wheel = (x, y, r, kind = 'wheel') => `<circle class="${kind}" cx="${x}" cy="${y}" r="${r}"/>`;

/** How a rider travels, seen from the side and facing right. */
const VEHICLES = {
  foot: wheel(1.3, -9, 2.4, '') + '<path class="line" d="M.5-4.5-1 2.2 3 5l.8 5.5M-1 2.2-2.2 6-5.5 10M-5.2 1l1-3.8L.5-4.5 3-1.2l3 1"/>',
  bicycle: wheel(-6, 3.5, 4.2, 'line') + wheel(6, 3.5, 4.2, 'line')
    + '<path class="line" d="M-6 3.5-3-3h7.3M6 3.5 3.3-6h3M4.3-3 0 3.5h-6M0 3.5-4-6m-1.8 0h3.6"/>',
  moped: '<rect x="-10" y="-8" width="7.5" height="6" rx="1"/>'
    + '<path class="line" d="M2.5-7.5h2.6l3.2 10.2M-8.5 3.5v-1.8a2.2 2.2 0 0 1 2.2-2.2h3.8l2 4h4.3l2.6-5.2"/>'
    + wheel(-6.2, 4.6, 2.6) + wheel(7.6, 4.6, 2.6),
  car: '<path fill-rule="evenodd" d="M-10.5 4v-4.5l3-1.5 2.7-4.5h7.6L7-2l3.5 1.5V4zM-5-2h4v-3h-2.2zM.7-5v3H5L2.6-5z"/>'
    + wheel(-5.5, 4.3, 2.4) + wheel(5.5, 4.3, 2.4),
  van: '<path d="M-9-5.5h9.5a1 1 0 0 1 1 1v8.5h-12v-8a1.5 1.5 0 0 1 1.5-1.5z"/>'
    + '<path d="M3-3h3.2a1.5 1.5 0 0 1 1.3.8l2.3 3.4a1.5 1.5 0 0 1 .2.8v2h-7z"/>' + wheel(-5.5, 4.5, 2.2) + wheel(5, 4.5, 2.2),
};
const ALIKE = {cargo_bike: 'bicycle', truck: 'van'};

/** How the rider of a job travels: as the job says, else the rider's card, else as usual for its kind. */
export const vehicleOf = ({kind, display, riderCard}) =>
  display?.vehicle ?? riderCard?.vehicle ?? (kind === 'delivery' ? 'moped' : 'van');

/** The rider: a drop whose tip shows the heading (`.pointer` rotates), with the vehicle always upright. */
export const riderIcon = (vehicle) => svg('-30 -30 60 60', 60,
  '<circle class="halo" r="19"/><g class="pointer"><path d="M0-29 13-13.9A19 19 0 1 1-13-13.9z"/></g>'
  + `<g class="glyph">${VEHICLES[ALIKE[vehicle] ?? vehicle] ?? VEHICLES.van}</g>`);

const pin = (width, height, glyph) => svg('0 0 40 48', width,
  `<path class="pin" d="M20 46.5C9.5 34.5 4 27 4 19.5a16 16 0 1 1 32 0c0 7.5-5.5 15-16 27z"/><path class="glyph" d="${glyph}"/>`, height);

/** The destination: a pin with a house. Its tip marks the place. */
export const homeIcon = pin(40, 48, 'M20 9.5 10.5 17.8l1.4 1.5.9-.8V27h5.4v-5.5h3.6V27h5.4v-8.5l.9.8 1.4-1.5z');

/** Where the order comes from: a pin with a bag. */
export const shopIcon = pin(34, 41, 'M12.5 15.5h15l1 12h-17z"/><path class="line" d="M16.5 18v-4a3.5 3.5 0 0 1 7 0v4');

const ring = '<circle class="ring" cx="12" cy="12" r="9.5"/>';
const disc = '<circle class="fill" cx="12" cy="12" r="11"/>';
const mark = (path) => `<path class="mark" d="${path}"/>`;
const step = (...parts) => svg('0 0 24 24', 24, parts.join(''));

/** The icons of the steps, by state. */
export const stepIcons = {
  complete: step(disc, mark('m7 12.5 3.5 3.5L17 9')),
  active: step(ring, '<circle class="fill" cx="12" cy="12" r="5"/>'),
  upcoming: step(ring),
  over: step(disc, mark('m8 8 8 8m0-8-8 8')),
  failed: step('<path class="fill" d="M12 1.5 23.3 21.5H.7z"/>', mark('M12 9v5.5m0 3v.1')),
};
