// Converts refusals and unexpected errors to problem documents.

internal import EnrouteWire
internal import HTTPValues
package import Jobs

extension Problem {
    package init(_ refused: Refused) {
        self.init(refused.code, status: refused.code.httpStatus, detail: refused.message)
        self.jobStatus = refused.status
        self.jobStatusID = refused.head
        self.tasks = refused.tasks
        self.cause = refused.cause
        self.isOutage = refused.isOutage
        if refused.code == .unavailable { self.retryIn = .random(in: 500...3000) }
    }

    /// Creates the problem for an unexpected error.
    package init(causedBy error: any Error) {
        self.init(.internal, status: 500, detail: Problem.internalDetail)
        self.cause = Refused.cause(of: error)
    }
}
