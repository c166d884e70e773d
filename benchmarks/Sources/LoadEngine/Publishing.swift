// The ways to publish to a peer: each creates the templates and the publisher.

internal import Glibc

/// How messages are published. `{job}` in a text is replaced by the job's name.
public enum Publishing {
    /// PUBLISH, or SPUBLISH to sharded channels; with an envelope, the message replaces its `{payload}`.
    case redis(Endpoint, channel: String, envelope: String? = nil, isSharded: Bool = false)
    /// POST over one connection, with pipelining.
    case http(Endpoint, path: String)
    /// PUB of the NATS protocol.
    case nats(Endpoint, subject: String)

    /// - Parameter message: creates the text of a job's message, with the marks of `MessageTemplate`.
    func publisher(jobs: [String], loop: Loop, message: (String) -> String) throws -> any Publisher {
        func fill(_ text: String, _ job: String) -> String { Identity(index: 0, channel: 0, job: job).fill(text) }
        switch self {
        case .redis(let endpoint, let channel, let envelope, let isSharded):
            let verb = isSharded ? "SPUBLISH" : "PUBLISH"
            let parts = envelope.map {
                $0.split(separator: "{payload}", omittingEmptySubsequences: false).map(String.init)
            }
            let templates = jobs.map { job in
                let name = fill(channel, job)
                let text = parts?.map { fill($0, job) }.joined(separator: message(job)) ?? message(job)
                return MessageTemplate(
                    "*3\r\n$\(verb.utf8.count)\r\n\(verb)\r\n$\(name.utf8.count)\r\n\(name)\r\n$\(text.utf8.count)\r\n\(text)\r\n"
                )
            }
            return try StreamPublisher(
                Dial(endpoint, tls: nil), loop: loop, templates: templates,
                answers: LineCounter(refusal: "-", countsEveryMessage: true))
        case .http(let endpoint, let path):
            let templates = jobs.map { job in
                MessageTemplate(RESTRequest("POST", fill(path, job), body: message(job)).text(host: endpoint.host))
            }
            return try StreamPublisher(
                Dial(endpoint, tls: nil), loop: loop, templates: templates, answers: AcceptedCounter())
        case .nats(let endpoint, let subject):
            let templates = jobs.map { job in
                let text = message(job)
                return MessageTemplate("PUB \(fill(subject, job)) \(text.utf8.count)\r\n\(text)\r\n")
            }
            return try StreamPublisher(
                Dial(endpoint, tls: nil), loop: loop,
                greeting: "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nPING\r\n", templates: templates,
                answers: LineCounter(refusal: "-", countsEveryMessage: false))
        }
    }
}

/// Counts HTTP responses, and accepts 200 to 299.
struct AcceptedCounter: AnswerCounter {
    let countsEveryMessage = true
    private(set) var count = 0
    private var answers = HTTPAnswers()

    mutating func take(_ bytes: UnsafeRawBufferPointer) -> String? {
        for answer in self.answers.take(bytes) {
            self.count += 1
            if !(200..<300).contains(answer.status) { return "status \(answer.status)" }
        }
        return nil
    }
}
