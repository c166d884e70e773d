// The certificate for new connections, which can be replaced while the listener runs.
//
// Certificates are renewed every few weeks, and a gateway holds connections for days. On SIGHUP the files are read again,
// including the ticket keys. The new context replaces the old one only if the files belong together and the certificate is
// currently valid. Open connections retain the context they started with.

internal import Synchronization

/// The credentials of a listener. Safe from any thread.
package final class TLSCredentials: Sendable {
    private let certificateChain: String
    private let privateKey: String
    private let ticketKeys: [String]
    private let ocspResponse: String?
    private let makesRecords: Bool
    private let context: Mutex<TLSContext>

    /// Reads both PEM files; blocks on disk I/O.
    ///
    /// - Parameter ticketKeys: files of session ticket keys shared by all gateways, the newest first; empty for keys known
    ///   only to this process.
    /// - Parameter ocspResponse: file of an OCSP response for the certificate, in DER, as written by `openssl ocsp -respout`;
    ///   sent to clients that request it (RFC 6066 section 8).
    /// - Parameter makesRecords: `false` leaves all records to libssl, for comparisons.
    /// - Parameter acceptsInvalidDates: accepts a certificate that has expired or is not valid yet, for experiments.
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

    /// Reads the files again. On an error, including a certificate that has expired or is not valid yet, the old context stays
    /// in use, and the call can be repeated.
    /// Blocks on disk I/O: do not call it on an event loop.
    package func reload() throws(TLSConfigurationError) {
        let fresh = try TLSContext(
            certificateChain: self.certificateChain, privateKey: self.privateKey,
            ticketKeys: TicketKeys(files: self.ticketKeys), ocspResponse: self.ocspResponse,
            makesRecords: self.makesRecords)
        if let problem = fresh.validity?.problem(in: self.certificateChain) { throw problem }
        self.context.withLock { $0 = fresh }
    }

    /// Why clients currently reject the certificate because of its dates; `nil` when they accept it.
    package var dateProblem: TLSConfigurationError? { self.current.validity?.problem(in: self.certificateChain) }

    /// Why some clients reject the chain of certificates; `nil` when it leads to a CA, as far as the file shows.
    package var chainProblem: TLSConfigurationError? {
        self.current.lacksIssuer ? .noIssuer(path: self.certificateChain) : nil
    }

    /// The context for the next accepted socket.
    package var current: TLSContext {
        self.context.withLock { $0 }
    }
}
