// The certificate of a listener that never stops: what new connections get, replaceable while it runs.
//
// Certificates are renewed every few weeks and a gateway holds connections for days. On SIGHUP both files are read
// again, the ticket keys too; only when they are good together, and valid now, does the new context replace the old one.
// Open connections hold a reference to the context they began with and notice nothing.

internal import Synchronization

/// What the listener presents. Safe from any thread.
package final class TLSCredentials: Sendable {
    private let certificateChain: String
    private let privateKey: String
    private let ticketKeys: [String]
    private let ocspResponse: String?
    private let makesRecords: Bool
    private let context: Mutex<TLSContext>

    /// Reads both PEM files; blocks on the disk.
    ///
    /// - Parameter ticketKeys: files of session-ticket keys shared by all gateways, the newest first; none for keys that
    ///   only this process has.
    /// - Parameter ocspResponse: file of an OCSP response about the certificate, in DER, as `openssl ocsp -respout`
    ///   writes it; sent to clients that ask (RFC 6066 section 8).
    /// - Parameter makesRecords: `false` leaves all records to libssl, to compare with.
    /// - Parameter acceptsInvalidDates: takes a certificate that has run out or is not valid yet, to try things out.
    package init(
        certificateChain: String, privateKey: String, ticketKeys: [String] = [], ocspResponse: String? = nil,
        makesRecords: Bool = true, acceptsInvalidDates: Bool = false
    ) throws(TLSConfigurationError) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
        self.ticketKeys = ticketKeys
        self.ocspResponse = ocspResponse
        self.makesRecords = makesRecords
        let first = try TLSContext(
            certificateChain: certificateChain, privateKey: privateKey, ticketKeys: TicketKeys(files: ticketKeys),
            ocspResponse: ocspResponse, makesRecords: makesRecords)
        if !acceptsInvalidDates, let problem = first.validity?.problem(in: certificateChain) { throw problem }
        self.context = Mutex(first)
    }

    /// Reads both files again. On an error, also when the new certificate has run out or is not valid yet, the old one stays
    /// in use, and it is safe to try again.
    /// Blocks on the disk: not for an event loop.
    package func reload() throws(TLSConfigurationError) {
        let fresh = try TLSContext(
            certificateChain: self.certificateChain, privateKey: self.privateKey,
            ticketKeys: TicketKeys(files: self.ticketKeys), ocspResponse: self.ocspResponse,
            makesRecords: self.makesRecords)
        if let problem = fresh.validity?.problem(in: self.certificateChain) { throw problem }
        self.context.withLock { $0 = fresh }
    }

    /// Why clients refuse the certificate in use at the moment, by its dates; `nil` when they do not.
    package var dateProblem: TLSConfigurationError? { self.current.validity?.problem(in: self.certificateChain) }

    /// What the next accepted socket is given.
    package var current: TLSContext {
        self.context.withLock { $0 }
    }
}
