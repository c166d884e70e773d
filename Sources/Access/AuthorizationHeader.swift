// The Authorization header (RFC 9110 section 11.6.2): a scheme in any case, one space, and credentials without spaces.

extension String {
    /// Returns the credentials of this Authorization header, or `nil` if it is malformed or has another scheme.
    ///
    /// It is read with every request and a token has hundreds of bytes, so it is split by bytes and not by characters.
    ///
    /// - Parameter scheme: in lower case, for instance `bearer`.
    package func credentials(ofScheme scheme: String) -> String? {
        guard let space = self.utf8.firstIndex(of: UInt8(ascii: " ")),
            self.utf8.distance(from: self.startIndex, to: space) == scheme.utf8.count,
            self[..<space].lowercased() == scheme
        else { return nil }
        let credentials = self[self.utf8.index(after: space)...]
        guard !credentials.isEmpty, !credentials.utf8.contains(UInt8(ascii: " ")) else { return nil }
        return String(credentials)
    }
}
