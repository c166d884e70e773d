// The desktop of whoever runs the demonstration, where there is one.

import Foundation
import Subprocess

enum Desktop {
    /// What says that a desktop is there (X11, Wayland).
    private static let signs = ["DISPLAY", "WAYLAND_DISPLAY"]

    /// Opens a page in the browser that people have there; without a desktop nothing happens, and the link is printed anyway.
    static func open(_ url: String) async {
        let variables = ProcessInfo.processInfo.environment
        guard self.signs.contains(where: { variables[$0]?.isEmpty == false }) else { return }
        _ = try? await Subprocess.run(
            .name("xdg-open"), arguments: [url], input: .none, output: .discarded, error: .discarded)
    }
}
