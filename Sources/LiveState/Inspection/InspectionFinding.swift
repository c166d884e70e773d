// A finding of an inspection: what was found, why it matters, and what to do.

/// One thing that was checked.
package struct Finding: Sendable, Hashable, Codable {
    package enum Severity: String, Sendable, Hashable, Codable {
        case ok, warning, error
    }

    /// What was checked. Programs read these values too, so they must not change.
    package enum Subject: String, Sendable, Hashable, Codable {
        case connection, version, master, replicas, persistence, reload, copies, eviction, memory, buffers, slowlog,
            access, clients
        case clock, encryption, separation, swapped, settings
        /// The gateway's own settings, not those of a Redis.
        case configuration
    }

    package var severity: Severity
    /// The role of the instance; `nil` for the gateway's own settings.
    package var role: RedisRole?
    package var subject: Subject
    /// A sentence.
    package var what: String
    /// A sentence; '' when nothing is wrong.
    package var why: String
    /// Commands and configuration lines; '' when nothing is wrong.
    package var remedy: String

    package init(
        _ severity: Severity, _ role: RedisRole?, _ subject: Subject, what: String, why: String = "",
        remedy: String = ""
    ) {
        self.severity = severity
        self.role = role
        self.subject = subject
        self.what = what
        self.why = why
        self.remedy = remedy
    }
}

extension RedisFacts {
    func ok(_ subject: Finding.Subject, _ what: String) -> Finding { Finding(.ok, self.role, subject, what: what) }

    func finding(
        _ severity: Finding.Severity, _ subject: Finding.Subject, _ what: String, why: String, remedy: String
    ) -> Finding {
        Finding(severity, self.role, subject, what: what, why: why, remedy: remedy)
    }

    /// The remedy for a setting: for the running server and for its next start.
    func setting(_ name: String, _ value: String) -> String {
        let isWord = !value.isEmpty && !value.contains(" ")
        let file = self.info["config_file"].flatMap { $0.isEmpty ? nil : $0 } ?? "the server's configuration file"
        let quoted = name == "save" && value.isEmpty ? "\"\"" : value
        return "\(self.connection.commandLine) CONFIG SET \(name) \(isWord ? value : "'\(value)'"); "
            + "and set `\(name) \(quoted)` in \(file)"
    }
}
