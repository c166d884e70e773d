// The certificate of a listener that never stops: what new connections get, replaceable while it runs.
//
// Certificates are renewed every few weeks and a gateway holds connections for days. On SIGHUP both files are read
// again, the ticket keys too; only when they are good together does the new context take the place of the old. Connections in being hold a
// reference to the context they began with and notice nothing.

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
    package init(
        certificateChain: String, privateKey: String, ticketKeys: [String] = [], ocspResponse: String? = nil,
        makesRecords: Bool = true
    ) throws(TLSConfigurationError) {
        self.certificateChain = certificateChain
        self.privateKey = privateKey
        self.ticketKeys = ticketKeys
        self.ocspResponse = ocspResponse
        self.makesRecords = makesRecords
        self.context = Mutex(
            try TLSContext(
                certificateChain: certificateChain, privateKey: privateKey, ticketKeys: TicketKeys(files: ticketKeys),
                ocspResponse: ocspResponse, makesRecords: makesRecords))
    }

    /// Reads both files again. On an error the old certificate stays in use, and it is safe to try again.
    /// Blocks on the disk: not for an event loop.
    package func reload() throws(TLSConfigurationError) {
        let fresh = try TLSContext(
            certificateChain: self.certificateChain, privateKey: self.privateKey,
            ticketKeys: TicketKeys(files: self.ticketKeys), ocspResponse: self.ocspResponse,
            makesRecords: self.makesRecords)
        self.context.withLock { $0 = fresh }
    }

    /// What the next accepted socket is given.
    package var current: TLSContext {
        self.context.withLock { $0 }
    }
}
