// The words of the customer's page, by language. What a status and a tracking state are called comes from the gateway
// (`GET /api/v1/texts`), so that an operator's own texts are on the page too; here is what only the page says, apart
// for a visit (`service`) and an order (`delivery`) where they differ. Sentences of US-072 and CUS-027 stand word for
// word.

export const words = {
  en: {
    title: {service: 'Your visit', delivery: 'Your order'},
    brand: 'Live tracking',
    moment: 'One moment …',
    map: 'Map',
    progress: 'Progress',
    details: 'Details',
    order: {service: 'Visit', delivery: 'Order'},
    vendor: 'Vendor',
    arrival: 'Arrival',
    since: 'Status since',
    follow: 'Follow',
    zoomIn: 'Zoom in',
    zoomOut: 'Zoom out',
    riderOnMap: {service: 'Technician', delivery: 'Rider'},
    homeOnMap: 'Your address',
    live: 'Live',
    liveAgain: 'The location is live again.',
    withoutConnection: 'The location can be seen again once there is a connection.',
    lastSeen: (who, far) => `${who} was ${far} away when last seen.`,
    notSharedYet: {
      service: 'Technician is on the way. Live location will be available once the technician enables it.',
      delivery: 'Rider is on the way. Live location will be available once the rider enables it.',
    },
    arrived: {service: 'The technician has arrived.', delivery: 'The rider has arrived.'},
    states: {complete: 'Done', active: 'Now', upcoming: 'To come', cancelled: 'Will not happen', failed: 'Needs time'},
    sinceTime: (time) => `Since ${time}`,
    afterStop: 'after another stop',
    refusals: {
      revoked: ['You can not follow this any more.', 'It is no longer shared with you.'],
      expired: [
        'This link is not valid any more.',
        'It has ended with the delivery or visit, or after its time. Please ask for a new one.',
      ],
      unknown: [
        'There is nothing to follow here.',
        'The address may be incomplete, or what it led to has ended. Please check the link that was sent to you.',
      ],
      full: ['This link is open in too many places.', 'Close it in one of them. This page tries again by itself.'],
      limited: ['Too many requests.', 'Please wait a minute. This page tries again by itself.'],
      down: [
        'We can not show this at the moment.',
        'Something does not answer on our side. Your order is not affected, and this page tries again by itself.',
      ],
      other: ['This page can not be shown at the moment.', 'Please load it again in a few minutes.'],
    },
    again: 'Try again',
    north: 'N', south: 'S', east: 'E', west: 'W',
  },
  de: {
    title: {service: 'Ihr Termin', delivery: 'Ihre Bestellung'},
    brand: 'Live-Verfolgung',
    moment: 'Einen Moment …',
    map: 'Karte',
    progress: 'Verlauf',
    details: 'Einzelheiten',
    order: {service: 'Termin', delivery: 'Bestellung'},
    vendor: 'Händler',
    arrival: 'Ankunft',
    since: 'Stand seit',
    follow: 'Folgen',
    zoomIn: 'Vergrößern',
    zoomOut: 'Verkleinern',
    riderOnMap: {service: 'Techniker', delivery: 'Fahrer'},
    homeOnMap: 'Ihre Adresse',
    live: 'Live',
    liveAgain: 'Der Standort ist wieder live.',
    withoutConnection: 'Der Standort ist wieder zu sehen, sobald es eine Verbindung gibt.',
    lastSeen: (who, far) => `${who} war zuletzt ${far} entfernt.`,
    notSharedYet: {
      service: 'Der Techniker ist unterwegs. Der Live-Standort ist zu sehen, sobald der Techniker ihn einschaltet.',
      delivery: 'Der Fahrer ist unterwegs. Der Live-Standort ist zu sehen, sobald der Fahrer ihn einschaltet.',
    },
    arrived: {service: 'Der Techniker ist angekommen.', delivery: 'Der Fahrer ist angekommen.'},
    states: {complete: 'Erledigt', active: 'Jetzt', upcoming: 'Folgt', cancelled: 'Entfällt', failed: 'Braucht Zeit'},
    sinceTime: (time) => `Seit ${time}`,
    afterStop: 'nach einem anderen Halt',
    refusals: {
      revoked: ['Sie können dies nicht mehr verfolgen.', 'Es wird nicht mehr mit Ihnen geteilt.'],
      expired: [
        'Dieser Link gilt nicht mehr.',
        'Er endet mit der Lieferung oder dem Termin, oder nach seiner Zeit. Bitte fragen Sie nach einem neuen.',
      ],
      unknown: [
        'Hier gibt es nichts zu verfolgen.',
        'Die Adresse ist vielleicht unvollständig, oder es ist schon vorbei. Bitte prüfen Sie Ihren Link.',
      ],
      full: [
        'Dieser Link ist an zu vielen Orten geöffnet.',
        'Schließen Sie ihn an einem davon. Diese Seite versucht es von selbst noch einmal.',
      ],
      limited: [
        'Zu viele Anfragen.',
        'Bitte warten Sie eine Minute. Diese Seite versucht es von selbst noch einmal.',
      ],
      down: [
        'Wir können dies gerade nicht zeigen.',
        'Bei uns antwortet etwas nicht. Ihre Bestellung betrifft das nicht; diese Seite versucht es weiter.',
      ],
      other: [
        'Diese Seite kann gerade nicht gezeigt werden.',
        'Bitte laden Sie sie in ein paar Minuten neu.',
      ],
    },
    again: 'Noch einmal',
    north: 'N', south: 'S', east: 'O', west: 'W',
  },
};
