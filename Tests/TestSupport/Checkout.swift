// The location of the project's own files, for tests that compare code with a document or a script.

package import FoundationEssentials

/// The checkout that the tests were built from.
package enum Checkout {
    package static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
}
