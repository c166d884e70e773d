// What the rider is told of the permission to locate: why, before the browser asks, and after a no how to allow it in
// this browser. A web page can not open the settings of a phone or a browser, so each way is told step by step.

export const permissionWords = {
  en: {
    explaining: {
      title: 'Share your location while you travel?',
      text: 'Travel Mode shows your customer where you are and when you arrive.',
      points: ['Only while Travel Mode is on, and for this task alone',
        'It ends by itself when you arrive, and after four hours',
        'No record of your way is kept'],
      last: 'Your browser asks next. “While using” is enough: we never ask for more.',
      main: 'Continue', other: 'Not now',
    },
    presence: {
      title: 'Share your location while you are online?',
      text: 'Then you are offered tasks that are near you.',
      points: ['Only while you are online and this page is open',
        'Only your dispatcher’s system gets it, and forgets it within minutes'],
      last: 'Your browser asks next. “While using” is enough: we never ask for more. You can go on without it, too.',
      main: 'Continue', other: 'Not now',
    },
    asking: {
      title: 'Your browser asks now', text: 'Please choose “Allow” in its question. “While using” is enough.',
      other: 'Cancel',
    },
    refused: {
      title: 'Location is not allowed',
      text: 'Travel Mode needs your location. It was not activated. You can allow it in the settings:',
      last: 'A web page can not open these settings for you.', main: 'I have allowed it', other: 'OK',
    },
    dismissed: {
      title: 'Your browser got no answer',
      text: 'Travel Mode needs your location. It was not activated. If the question does not come again, allow it in '
        + 'the settings:',
      last: 'A web page can not open these settings for you.', main: 'Ask again', other: 'Not now',
    },
    services: {
      title: 'Location is switched off',
      text: 'This device does not say where it is. Please enable location services:',
      last: 'A web page can not open these settings for you.', main: 'Try again', other: 'OK',
    },
    revoked: {
      title: 'Location was taken back',
      text: 'Your location is no longer shared, and your customer is told so. Travel Mode goes on once it is allowed '
        + 'again:',
      last: 'A web page can not open these settings for you.', main: 'I have allowed it', other: 'OK',
    },
    insecure: {
      title: 'This page is not secure',
      text: 'A browser tells the location only to pages whose address begins with https. '
        + 'Please ask your dispatcher for the right address.', other: 'OK',
    },
    unsupported: {
      title: 'No location here',
      text: 'This browser can not tell where you are. Please use Chrome, Safari, Firefox or Samsung Internet.',
      other: 'OK',
    },
    stillNot: 'Your browser still says no. Please check the steps; perhaps the page has to be loaded again.',
    navigateAnyway: 'Navigate anyway',
    allowed: 'Location is allowed now. You can activate Travel Mode.',
    settings: {
      chromeAndroid: ['Tap the icon to the left of the address', 'Tap “Permissions”, then “Location”',
        'Choose “Allow while visiting the site”'],
      chrome: ['Click the icon to the left of the address', 'Switch “Location” on',
        'If it is not there: “Site settings”, “Location”, “Allow”'],
      safariIos: ['Open Settings, then Privacy & Security, Location Services, Safari Websites: choose “While Using '
        + 'the App”',
        'Back in Safari tap the icon to the left of the address, then “Website Settings”',
        'For “Location” choose “Allow”'],
      otherIos: ['Open Settings and scroll to this browser', 'Tap “Location”', 'Choose “While Using the App”'],
      safari: ['In the menu open Safari, then “Settings for this website”', 'For “Location” choose “Allow”',
        'If it still fails: System Settings, Privacy & Security, Location Services, Safari'],
      firefoxAndroid: ['Tap the lock to the left of the address', 'Tap “Location” until it says “Allowed”',
        'Load this page again'],
      firefox: ['Click the icon to the left of the address', 'Take “Blocked” away from “Access your location”',
        'Load this page again'],
      samsung: ['Tap the lock to the left of the address', 'Tap “Permissions”, then “Location”', 'Choose “Allow”'],
      other: ['Open the settings of your browser', 'Look for the permissions of this site', 'Allow the location'],
    },
    devices: {
      ios: ['Open Settings, then Privacy & Security, Location Services', 'Switch Location Services on',
        'Tap your browser below and choose “While Using the App”'],
      android: ['Swipe down from the top of the screen', 'Touch and hold “Location”, and switch it on',
        'In “App permissions” allow your browser “While using the app”'],
      web: ['Open the settings of your system, then Privacy', 'Switch location services on',
        'Allow your browser to use them'],
    },
  },
  de: {
    explaining: {
      title: 'Standort während der Fahrt teilen?',
      text: 'Der Fahrtmodus zeigt Ihrem Kunden, wo Sie sind und wann Sie ankommen.',
      points: ['Nur solange der Fahrtmodus an ist, und nur für diesen Auftrag',
        'Er endet von selbst, wenn Sie ankommen, und nach vier Stunden', 'Ihr Weg wird nicht aufgezeichnet'],
      last: 'Gleich fragt Ihr Browser. „Bei Verwendung“ genügt: mehr fragen wir nie.',
      main: 'Weiter', other: 'Nicht jetzt',
    },
    presence: {
      title: 'Standort teilen, solange Sie online sind?',
      text: 'Dann bekommen Sie Aufträge in Ihrer Nähe.',
      points: ['Nur solange Sie online sind und diese Seite offen ist',
        'Nur die Disposition bekommt ihn, und vergisst ihn nach Minuten'],
      last: 'Gleich fragt Ihr Browser. „Bei Verwendung“ genügt: mehr fragen wir nie. Es geht auch ohne.',
      main: 'Weiter', other: 'Nicht jetzt',
    },
    asking: {
      title: 'Ihr Browser fragt jetzt', text: 'Bitte wählen Sie dort „Zulassen“. „Bei Verwendung“ genügt.',
      other: 'Abbrechen',
    },
    refused: {
      title: 'Der Standort ist nicht erlaubt',
      text: 'Der Fahrtmodus braucht Ihren Standort. Er wurde nicht eingeschaltet. Erlauben können Sie ihn in den '
        + 'Einstellungen:',
      last: 'Eine Webseite kann diese Einstellungen nicht öffnen.', main: 'Ich habe ihn erlaubt', other: 'OK',
    },
    dismissed: {
      title: 'Ihr Browser bekam keine Antwort',
      text: 'Der Fahrtmodus braucht Ihren Standort. Er wurde nicht eingeschaltet. Kommt die Frage nicht wieder, '
        + 'erlauben Sie ihn in den Einstellungen:',
      last: 'Eine Webseite kann diese Einstellungen nicht öffnen.', main: 'Noch einmal fragen', other: 'Nicht jetzt',
    },
    services: {
      title: 'Der Standort ist ausgeschaltet',
      text: 'Dieses Gerät sagt nicht, wo es ist. Bitte schalten Sie die Ortungsdienste ein:',
      last: 'Eine Webseite kann diese Einstellungen nicht öffnen.', main: 'Noch einmal versuchen', other: 'OK',
    },
    revoked: {
      title: 'Der Standort wurde zurückgenommen',
      text: 'Ihr Standort wird nicht mehr geteilt, und Ihr Kunde erfährt es. Der Fahrtmodus geht weiter, sobald er '
        + 'wieder erlaubt ist:',
      last: 'Eine Webseite kann diese Einstellungen nicht öffnen.', main: 'Ich habe ihn erlaubt', other: 'OK',
    },
    insecure: {
      title: 'Diese Seite ist nicht sicher',
      text: 'Ein Browser sagt den Standort nur Seiten, deren Adresse mit https beginnt. '
        + 'Bitte fragen Sie Ihre Disposition nach der richtigen Adresse.', other: 'OK',
    },
    unsupported: {
      title: 'Kein Standort möglich',
      text: 'Dieser Browser kann nicht sagen, wo Sie sind. Bitte nehmen Sie Chrome, Safari, Firefox oder Samsung '
        + 'Internet.',
      other: 'OK',
    },
    stillNot: 'Ihr Browser sagt noch immer nein. Bitte prüfen Sie die Schritte; vielleicht muss die Seite neu '
      + 'geladen werden.',
    navigateAnyway: 'Trotzdem navigieren',
    allowed: 'Der Standort ist jetzt erlaubt. Sie können den Fahrtmodus einschalten.',
    settings: {
      chromeAndroid: ['Tippen Sie auf das Symbol links neben der Adresse', 'Dann auf „Berechtigungen“ und „Standort“',
        'Wählen Sie „Beim Besuch der Website zulassen“'],
      chrome: ['Klicken Sie auf das Symbol links neben der Adresse', 'Schalten Sie „Standort“ ein',
        'Fehlt er dort: „Website-Einstellungen“, „Standort“, „Zulassen“'],
      safariIos: ['Einstellungen, Datenschutz & Sicherheit, Ortungsdienste, Safari-Websites: „Beim Verwenden der App“',
        'Zurück in Safari: auf das Symbol links neben der Adresse tippen, dann „Website-Einstellungen“',
        'Bei „Standort“ wählen Sie „Erlauben“'],
      otherIos: ['Öffnen Sie die Einstellungen und suchen Sie diesen Browser', 'Tippen Sie auf „Standort“',
        'Wählen Sie „Beim Verwenden der App“'],
      safari: ['Im Menü Safari: „Einstellungen für diese Website“', 'Bei „Standort“ wählen Sie „Erlauben“',
        'Hilft das nicht: Systemeinstellungen, Datenschutz & Sicherheit, Ortungsdienste, Safari'],
      firefoxAndroid: ['Tippen Sie auf das Schloss links neben der Adresse',
        'Tippen Sie auf „Standort“, bis dort „Erlaubt“ steht', 'Laden Sie die Seite neu'],
      firefox: ['Klicken Sie auf das Symbol links neben der Adresse',
        'Nehmen Sie bei „Auf Ihren Standort zugreifen“ „Blockiert“ weg', 'Laden Sie die Seite neu'],
      samsung: ['Tippen Sie auf das Schloss links neben der Adresse', 'Dann auf „Berechtigungen“ und „Standort“',
        'Wählen Sie „Zulassen“'],
      other: ['Öffnen Sie die Einstellungen Ihres Browsers', 'Suchen Sie die Berechtigungen dieser Website',
        'Erlauben Sie den Standort'],
    },
    devices: {
      ios: ['Einstellungen, Datenschutz & Sicherheit, Ortungsdienste', 'Schalten Sie die Ortungsdienste ein',
        'Tippen Sie darunter auf Ihren Browser und wählen Sie „Beim Verwenden der App“'],
      android: ['Wischen Sie vom oberen Rand nach unten', 'Halten Sie „Standort“ gedrückt und schalten Sie ihn ein',
        'Unter „App-Berechtigungen“ erlauben Sie Ihrem Browser „Zugriff während der Nutzung“'],
      web: ['Öffnen Sie die Einstellungen Ihres Systems, dann Datenschutz', 'Schalten Sie die Ortungsdienste ein',
        'Erlauben Sie sie Ihrem Browser'],
    },
  },
};
