// The texts about the location permission: why it is needed, before the browser asks, and how to allow it in this browser after
// a refusal. A web page cannot open the settings of a phone or a browser, so the rider gets step-by-step instructions.

export const permissionWords = {
  en: {
    explaining: {
      title: 'Share your location while you travel?',
      text: 'Travel Mode shows your customer where you are and when you’ll arrive.',
      points: ['Only while Travel Mode is on, and only for this task',
        'Stops automatically at the end of the trip, or at the time limit',
        'Your route is not recorded'],
      last: 'Your browser will ask next. “While using” is enough – we never need more.',
      main: 'Continue', other: 'Not now',
    },
    presence: {
      title: 'Share your location while you are online?',
      text: 'You’ll be offered tasks near you.',
      points: ['Only while you are online and this page is open',
        'Only your dispatcher’s system receives it, and it’s deleted within minutes'],
      last: 'Your browser will ask next. “While using” is enough – we never need more. You can also continue without it.',
      main: 'Continue', other: 'Not now',
    },
    asking: {
      title: 'Your browser is asking', text: 'Choose “Allow”. “While using” is enough.',
      other: 'Cancel',
    },
    refused: {
      title: 'Location is blocked',
      text: 'Travel Mode needs your location, so it wasn’t activated. Allow location access in the settings:',
      main: 'I have allowed it', other: 'OK',
    },
    dismissed: {
      title: 'The permission question was closed',
      text: 'Travel Mode needs your location, so it wasn’t activated. If the prompt doesn’t reappear, allow '
        + 'location access in the settings:',
      main: 'Ask again', other: 'Not now',
    },
    services: {
      title: 'Location is switched off',
      text: 'Switch on location services on this device:',
      main: 'Try again', other: 'OK',
    },
    revoked: {
      title: 'Location access was turned off',
      text: 'Your location is no longer shared, and your customer can see that. Travel Mode continues once you allow it '
        + 'again:',
      main: 'I have allowed it', other: 'OK',
    },
    insecure: {
      title: 'This page is not secure',
      text: 'Browsers share your location only with pages whose address starts with https. '
        + 'Ask your dispatcher for the right address.', other: 'OK',
    },
    unsupported: {
      title: 'Location isn’t supported',
      text: 'This browser can’t find your location. Use Chrome, Safari, Firefox or Samsung Internet.',
      other: 'OK',
    },
    stillNot: 'Your browser still blocks it. Check the steps, or reload this page.',
    navigateAnyway: 'Navigate anyway',
    allowed: 'Location access is allowed.',
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
      firefoxAndroid: ['Tap the lock to the left of the address', 'Tap “Location” until it shows “Allowed”',
        'Reload this page'],
      firefox: ['Click the icon to the left of the address', 'Remove “Blocked” next to “Access your location”',
        'Reload this page'],
      samsung: ['Tap the lock to the left of the address', 'Tap “Permissions”, then “Location”', 'Choose “Allow”'],
      other: ['Open the settings of your browser', 'Find the permissions for this site', 'Allow location'],
    },
    devices: {
      ios: ['Open Settings, then Privacy & Security, Location Services', 'Turn on Location Services',
        'Tap your browser below and choose “While Using the App”'],
      android: ['Swipe down from the top of the screen', 'Touch and hold “Location” and turn it on',
        'Under “App permissions”, allow your browser “While using the app”'],
      web: ['Open your system settings, then Privacy', 'Turn on location services',
        'Allow your browser to use them'],
    },
  },
  de: {
    explaining: {
      title: 'Standort während der Fahrt teilen?',
      text: 'Der Fahrtmodus zeigt Ihrem Kunden, wo Sie sind und wann Sie ankommen.',
      points: ['Nur solange der Fahrtmodus an ist, und nur für diesen Auftrag',
        'Endet von selbst am Ende der Fahrt oder nach der Höchstdauer', 'Ihr Weg wird nicht aufgezeichnet'],
      last: 'Gleich fragt Ihr Browser. „Bei Verwendung“ genügt – mehr brauchen wir nie.',
      main: 'Weiter', other: 'Nicht jetzt',
    },
    presence: {
      title: 'Standort teilen, solange Sie online sind?',
      text: 'Dann bekommen Sie Aufträge in Ihrer Nähe.',
      points: ['Nur solange Sie online sind und diese Seite offen ist',
        'Nur das System Ihrer Disposition erhält ihn; nach wenigen Minuten wird er gelöscht'],
      last: 'Gleich fragt Ihr Browser. „Bei Verwendung“ genügt – mehr brauchen wir nie. Es geht auch ohne.',
      main: 'Weiter', other: 'Nicht jetzt',
    },
    asking: {
      title: 'Ihr Browser fragt jetzt', text: 'Wählen Sie „Zulassen“. „Bei Verwendung“ genügt.',
      other: 'Abbrechen',
    },
    refused: {
      title: 'Der Standort ist blockiert',
      text: 'Der Fahrtmodus braucht Ihren Standort und wurde nicht eingeschaltet. Erlauben Sie den '
        + 'Standortzugriff in den Einstellungen:',
      main: 'Ich habe ihn erlaubt', other: 'OK',
    },
    dismissed: {
      title: 'Die Frage wurde geschlossen',
      text: 'Der Fahrtmodus braucht Ihren Standort und wurde nicht eingeschaltet. Kommt die Frage nicht wieder, '
        + 'erlauben Sie den Standortzugriff in den Einstellungen:',
      main: 'Noch einmal fragen', other: 'Nicht jetzt',
    },
    services: {
      title: 'Der Standort ist ausgeschaltet',
      text: 'Schalten Sie die Ortungsdienste dieses Geräts ein:',
      main: 'Noch einmal versuchen', other: 'OK',
    },
    revoked: {
      title: 'Der Standortzugriff wurde abgeschaltet',
      text: 'Ihr Standort wird nicht mehr geteilt, und Ihr Kunde sieht das. Der Fahrtmodus geht weiter, sobald Sie ihn '
        + 'wieder erlauben:',
      main: 'Ich habe ihn erlaubt', other: 'OK',
    },
    insecure: {
      title: 'Diese Seite ist nicht sicher',
      text: 'Browser geben Ihren Standort nur an Seiten weiter, deren Adresse mit https beginnt. '
        + 'Fragen Sie Ihre Disposition nach der richtigen Adresse.', other: 'OK',
    },
    unsupported: {
      title: 'Kein Standort möglich',
      text: 'Dieser Browser kann Ihren Standort nicht bestimmen. Nutzen Sie Chrome, Safari, Firefox oder Samsung '
        + 'Internet.',
      other: 'OK',
    },
    stillNot: 'Ihr Browser blockiert ihn noch. Prüfen Sie die Schritte oder laden Sie diese Seite neu.',
    navigateAnyway: 'Trotzdem navigieren',
    allowed: 'Der Standortzugriff ist erlaubt.',
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
        'Entfernen Sie „Blockiert“ bei „Auf Ihren Standort zugreifen“', 'Laden Sie die Seite neu'],
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
