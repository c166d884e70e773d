// Settings of the pages and of their map tiles.

import Gateway
import REST

extension SettingsTable {
    static let pages = SettingGroup(
        "Pages", "[Make the pages your own](theming.md) shows these settings together, and what else can be changed.",
        [
            Setting(
                "ENROUTE_PAGES_DIR", .text("path of a directory"), "Directory whose files replace the built-in pages.",
                details: """
                    Files replace built-in ones of the same name (`track.html`, `page.css`, …): for a logo, colors or
                    wording. They are read at each request. A page's script (`track.js`, `rider.js`, `ops.js`) is sent as
                    one file together with the modules it imports. Addresses in `href="/…"` and `src="/…"` are sent as
                    relative ones, so that they also work under a path prefix.
                    """),
            Setting(
                "ENROUTE_PAGES_NAME", .text("1 to 40 characters"), default: .value(REST.PageSettings.defaultName),
                "Your name, on the customer's page and on the home screen of a phone.",
                details: """
                    The customer's page is installed under this name, the others as `<name> Rider` and
                    `<name> Operations`.
                    """),
            Setting(
                "ENROUTE_PAGES_LOGO_FILE", .text("path of a .svg, .png or .webp file of at most 100 kB"),
                "Your logo, in the bar of the pages.",
                details: "It is shown 28 px high, on a white bar and on a dark one."),
            Setting(
                "ENROUTE_PAGES_ACCENT", .text("`rrggbb`, six hexadecimal digits"), default: .described("blue"),
                "Your color for buttons, links, the arrival time and the rider on the map.",
                details: """
                    Text in this color must have a contrast of 4.5 to 1 on the pages (WCAG 2.1); the gateway does not start
                    with a color that is too light. Leave the `#` out in a settings file, where it starts a comment.
                    """),
            Setting(
                "ENROUTE_PAGES_ACCENT_DARK", .text("`rrggbb`, six hexadecimal digits"),
                default: .described("light blue"),
                "The same for dark pages.", details: "It must be light enough to be read on a dark page."),
            Setting(
                "ENROUTE_PAGES_SUPPORT_URL", .text("`https://…`, `mailto:…` or `tel:…`"),
                "Where customers get help: the customer's page links to it.",
                details: "Without it the page offers no help."),
            Setting(
                "ENROUTE_PAGES_NOTES", .choice(REST.CustomerAction.allCases.map(\.rawValue)),
                default: .value(libraryDefaults.customerNotes.rawValue),
                "Who may leave a note for the rider on the customer's page.",
                details: """
                    `signed-in`: the customer with a token. `links`: everybody with a tracking link too, because most
                    customers have nothing else. The page then no longer offers to share the link, because whoever has it
                    can read and change the note. Riders and operations staff read the note in any case.
                    """),
            Setting(
                "ENROUTE_PAGES_CANCEL", .choice(REST.CustomerAction.allCases.map(\.rawValue)),
                default: .value(libraryDefaults.customerCancelling.rawValue),
                "Who may cancel on the customer's page, while the status allows it.",
                details: """
                    Customers can cancel in `pending_vendor_acceptance`, `assigned` and `allocation_failed`. The values are
                    those of `ENROUTE_PAGES_NOTES`. The order system is notified as of any change of status.
                    Over REST, customers with a token may always cancel.
                    """),
            Setting(
                "ENROUTE_PAGES_SIGN_IN_URL", .text("`https://…`; `http://…` for this machine only"),
                "Page where people sign in.",
                details: """
                    The pages redirect there with `?return=<the page>` and expect the user back with a sign-in code.
                    Without it the pages ask for a code.
                    """),
            Setting(
                "ENROUTE_PAGES_PHOTO_ORIGINS", .list("`https://host` or `https://host:port`"),
                "Origins from which pages may load riders' photos.",
                details: """
                    Without it the pages show no photos, and browsers load no image from another site. Photos that a browser
                    loads from another origin reveal its address to that origin, so name only hosts that you operate.
                    """),
            Setting(
                "ENROUTE_PAGES_FRAME_ANCESTORS", .list("an origin such as `https://shop.example`"),
                "Web pages that may show the customer's page in a frame.",
                details: """
                    The customer's page is sent with these origins as `frame-ancestors` of its Content-Security-Policy.
                    Without it, no page may frame it. The rider's page and the operations page can never be framed.
                    """),
            Setting(
                "ENROUTE_PAGES_LANGUAGES_DIR", .text("path of a directory"),
                "Additional languages for the customer's page: a file for each, such as `fr.json`.",
                details: """
                    `enroute config --language-template` prints a file to translate, with all texts in English. A text that
                    a file lacks stays English and is listed in a warning when the gateway starts; an unknown
                    text, and placeholders (`{time}`) that differ, are errors. The page chooses by `?lang=` and
                    `Accept-Language`. Statuses and tracking states of the file are part of `GET /api/v1/texts`. The gateway
                    reads the files when it starts. The other pages stay English and German.
                    """),
            Setting(
                "ENROUTE_PAGES_TRANSLATION_FILES", .list("path of a JSON file"),
                "Additional languages for statuses and tracking states only.",
                details: """
                    Each file must be complete; a missing text is an error that names it.
                    `GET /api/v1/texts?language=en` returns a complete file. A file for `en` or `de` replaces the built-in
                    one.
                    """),
            Setting(
                "ENROUTE_PAGES_STREETS_FILE", .text("path of a GeoJSON file, plain or .gz"),
                "Streets to draw on a map without tiles.",
                details: """
                    Streets are drawn by their class and with their names, and water, parks and buildings below them, if the
                    file contains them: OpenStreetMap's tags (`highway`, `waterway`, `railway`, `natural`, `leisure`,
                    `landuse`, `building`, `name`), or the `class` or `kind` of a vector tile schema. Everything else in the
                    file is ignored.
                    """),
            Setting(
                "ENROUTE_PAGES_LEAFLET_DIR", .text("path of a directory"),
                default: .value(libraryDefaults.leafletFolder), "Directory of Leaflet's files.",
                details: "The default is where Debian's package libjs-leaflet installs them."),
        ])

    static let tiles = SettingGroup(
        "Map tiles",
        """
        Gateways fetch the tiles, so an access key in the URL stays on the gateway and no browser contacts another site. Each
        gateway caches 32 MiB.
        """,
        [
            Setting(
                "ENROUTE_TILES_URL", .text("`https://tiles.example/{z}/{x}/{y}.png`; `http://…` for this machine only"),
                "Where map tiles come from.", details: "Requires `ENROUTE_TILES_ATTRIBUTION`.", secrecy: .url),
            Setting(
                "ENROUTE_TILES_ATTRIBUTION", .text("any text"), "Attribution shown on the map, as its license requires."
            ),
            Setting(
                "ENROUTE_TILES_CA_FILE", .text("path of a PEM file"),
                default: .described("the system's certificate authorities"),
                "Certificate authorities trusted for the tile server."),
        ])
}
