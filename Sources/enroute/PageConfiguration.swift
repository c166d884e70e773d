// What of the pages is the deployment's own: files in the place of ours.

import Foundation
import Gateway

extension ProcessConfiguration {
    func pagesFolder() throws -> String? {
        guard let folder = self.text("ENROUTE_PAGES") else { return nil }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw ConfigurationError(
                description: "ENROUTE_PAGES names \(folder), which is no folder. Make it, and put files into it that "
                    + "take the place of the pages' own, by their names: page.css, for example.")
        }
        return folder
    }
}
