// Opens pages in the desktop's browser, if there is a desktop.

import Foundation
import Subprocess

enum Desktop {
    /// Variables that are set on a desktop (X11, Wayland).
    private static let desktopVariables = ["DISPLAY", "WAYLAND_DISPLAY"]

    /// Opens a page in the default browser. Without a desktop it does nothing; the demo prints the link anyway.
    static func open(_ url: String) async {
        let variables = ProcessInfo.processInfo.environment
        guard self.desktopVariables.contains(where: { variables[$0]?.isEmpty == false }) else { return }
        _ = try? await Subprocess.run(
            .name("xdg-open"), arguments: [url], input: .none, output: .discarded, error: .discarded)
    }
}
