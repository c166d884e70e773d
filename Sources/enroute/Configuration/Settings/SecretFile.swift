// Reads the value of a setting from the file that `<name>_FILE` names, for example a systemd credential or a Kubernetes
// secret. The value is then neither in the environment nor in the configuration file.

import Foundation

/// The content of a file with one secret.
enum SecretFile {
    /// Maximum size in bytes.
    static let maxBytes = 65_536

    /// The problem with a file. The text contains the setting and the path, but no part of the content.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// Returns the content without white space at both ends.
    ///
    /// - Parameter setting: the setting that contains the path, for errors.
    static func read(_ path: String, setting: String) throws(Fault) -> String {
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw Fault(
                description: "\(setting) names \(path), which cannot be read. Check that it exists and that this user "
                    + "may read it.")
        }
        defer { try? handle.close() }
        let bytes: Data
        do {
            bytes = try handle.read(upToCount: Self.maxBytes + 1) ?? Data()
        } catch {
            throw Fault(
                description: "\(setting) names \(path), which cannot be read: \(ReadFault.reason(path, error))")
        }
        guard bytes.count <= Self.maxBytes, let text = String(validating: bytes, as: UTF8.self) else {
            throw Fault(
                description: "\(setting) names \(path), which is not UTF-8 text of at most \(Self.maxBytes) bytes.")
        }
        let value = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !value.isEmpty else {
            throw Fault(description: "\(setting) names \(path), which is empty. Write the value into it.")
        }
        guard value.unicodeScalars.allSatisfy({ $0.value >= 32 && $0.value != 127 }) else {
            throw Fault(description: "\(setting) names \(path), which must contain a single line: the value.")
        }
        return value
    }
}
