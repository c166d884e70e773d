// Why a file that can be opened cannot be read. Foundation's text for a folder is "NSCocoaErrorDomain error 256".

import Foundation

/// The end of a sentence about a file that cannot be read.
enum ReadFault {
    static func reason(_ path: String, _ error: any Error) -> String {
        var isFolder: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        return exists && isFolder.boolValue ? "it is a folder. Name the file in it." : error.localizedDescription
    }
}
