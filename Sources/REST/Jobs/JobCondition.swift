// The conditions of requests that write or erase a job: If-Match and If-None-Match (RFC 9110 sections 13.1.1 and
// 13.1.2). For a change of the status, Redis compares the condition (`Precondition`). Otherwise it is compared here,
// with the record that the gateway reads right before the change. An assignment is made only if the record still has the
// revision that was compared.

internal import Access
internal import EnrouteWire
internal import HTTPTypes
internal import HTTPValues
internal import Hummingbird
internal import Jobs
internal import LiveState
internal import NIOCore
internal import Redis

/// What a request requires of a job before it changes it.
struct JobCondition: Hashable, Sendable {
    /// A state of a job, as a header identifies it: by the job's `ETag` or by the ID of its newest status event.
    struct NamedState: Hashable, Sendable {
        let head: ExpectedHead
        /// `nil` if only the status event is named.
        let revision: Int64?

        /// - Parameters:
        ///   - head: the status event that `tag` names.
        ///   - tag: `"<epoch>.<status event>.<revision>-<digest>"`, with or without quotes. The digest is ignored.
        /// - Returns: `nil` for a tag that no job has.
        init?(_ head: ExpectedHead, of tag: some StringProtocol) {
            let parts = String(tag.trimmed.filter { $0 != "\"" }).split(
                separator: ".", omittingEmptySubsequences: false)
            self.head = head
            // Only the third part differs from what `Precondition` reads.
            guard parts.count > 2 else {
                self.revision = nil
                return
            }
            let counted = parts[2].split(separator: "-", omittingEmptySubsequences: false)
            guard counted.count == 2, let revision = Int64(String(counted[0])) else { return nil }
            self.revision = revision
        }

        func matches(_ record: JobRecord) -> Bool {
            (self.head.epoch ?? record.epoch) == record.epoch && self.head.id == record.head
                && (self.revision ?? record.revision) == record.revision
        }
    }

    /// The request has an `If-Match`: the job must exist.
    private(set) var mustExist = false
    /// The request has `If-None-Match: *`: it only creates.
    private(set) var mustNotExist = false
    /// The state that `If-Match` names. `nil` without the header, and for `*`.
    private(set) var expected: NamedState?
    /// `If-Match` names a state that no job has.
    private(set) var isImpossible = false
    /// The states that `If-None-Match` names.
    private(set) var excluded: [NamedState] = []

    /// Whether the request has no condition.
    var isEmpty: Bool { !self.mustExist && !self.mustNotExist && self.excluded.isEmpty }

    /// Whether `If-Match` identifies a state of the whole record, with its rider. Only an `ETag` does.
    var namesRecord: Bool { self.expected?.revision != nil }

    /// The condition for the rest of a request whose condition was met: if the job had to exist, it must still exist,
    /// in whatever state.
    var onceMet: Self {
        var condition = self
        (condition.expected, condition.excluded) = (nil, [])
        return condition
    }

    /// - Parameters:
    ///   - ifMatch: the lines of `If-Match`. It is one entity tag or `*`.
    ///   - ifNoneMatch: the lines of `If-None-Match`: a list of entity tags, or `*`. Tags that no job can have are
    ///     ignored.
    /// - Returns: `nil` if `If-Match` is malformed.
    init?(ifMatch: [String], ifNoneMatch: [String]) {
        self.mustExist = !ifMatch.isEmpty
        // Repeated header fields form one list (RFC 9110 section 5.3).
        let tag = ifMatch.joined(separator: ",")
        switch Precondition(ifMatch: ifMatch.isEmpty ? nil : tag) {
        case .none: break
        case .head(let head):
            self.expected = NamedState(head, of: tag)
            self.isImpossible = self.expected == nil
        case .never: self.isImpossible = true
        case .malformed: return nil
        }
        for item in ifNoneMatch.joined(separator: ",").split(separator: ",") {
            // If-None-Match compares weakly.
            let tag = item.trimmed.hasPrefix("W/") ? item.trimmed.dropFirst(2) : item.trimmed
            if tag == "*" {
                self.mustNotExist = true
            } else if case .head(let head) = Precondition(ifMatch: String(tag)), let state = NamedState(head, of: tag) {
                self.excluded.append(state)
            }
        }
    }

    /// - Throws: 400 if `If-Match` is malformed.
    init(_ request: Request) throws {
        let (match, none) = (request.headers[values: .ifMatch], request.headers[values: .ifNoneMatch])
        guard let condition = JobCondition(ifMatch: match, ifNoneMatch: none) else { throw Routes.malformedIfMatch }
        self = condition
    }

    /// Returns why the request must not be carried out, or `nil` if the condition is met.
    ///
    /// - Parameter record: the job as it is; `nil` if it does not exist.
    func refusal(for record: JobRecord?) -> Refused? {
        guard let record else {
            guard self.mustExist else { return nil }
            return Refused(
                code: .preconditionFailed, message: "The job does not exist. Without If-Match this request creates it.")
        }
        if self.mustNotExist {
            var refused = Refused(
                code: .preconditionFailed,
                message: "The job already exists and was not changed. If-None-Match: * allows only a new job.",
                status: record.status)
            refused.head = record.head
            return refused
        }
        guard !self.isImpossible else { return Refused(impossibleIfMatchFor: record.status, record.head) }
        guard self.expected?.matches(record) ?? true, !self.excluded.contains(where: { $0.matches(record) }) else {
            return Refused(overtakenBy: record.status, record.head)
        }
        return nil
    }
}

extension Routes {
    static var malformedIfMatch: Problem {
        Self.badRequest("If-Match must be one entity tag: the job's ETag, or the ID of its newest status in quotes.")
    }

    /// Compares a condition with a job that the request changes or erases. The request itself handles a job that does
    /// not exist or that the caller may not see.
    ///
    /// - Returns: the revision of the record that meets the condition; `nil` if nothing was compared.
    /// - Throws: 412 if the condition is not met.
    @discardableResult
    func require(_ condition: JobCondition, of job: JobID, by grant: Grant) async throws -> Int64? {
        guard !condition.isEmpty, let record = try await self.result(of: self.jobs.ledger.recover(job))?.record,
            grant.reaches(job, customer: record.customer, rider: record.rider),
            !self.revocations.hides(job, from: grant.role)
        else { return nil }
        if let refusal = condition.refusal(for: record) { throw Problem(refusal) }
        return record.revision
    }

    /// How often a condition is compared while others change the record.
    private static let maxComparisons = 5

    /// Assigns a job if it meets a condition. If the record changes after it was compared, it is compared again.
    ///
    /// - Throws: 412 if the condition is not met.
    func assignment(
        if condition: JobCondition, of job: JobID, by grant: Grant,
        _ assign: (_ revision: Int64?) -> EventLoopFuture<Durable<Assigned>>
    ) async throws -> Durable<Assigned> {
        for _ in 0..<Self.maxComparisons {
            let revision = try await self.require(condition, of: job, by: grant)
            do {
                return try await assign(revision).get()
            } catch is RevisionChanged {
                continue
            } catch {
                throw Problem(Refused(error))
            }
        }
        throw Problem(Refused.changedConcurrently)
    }
}
