// What a rider receives as the answer to its reports.

internal import EnrouteWire
internal import Fanout
internal import Tracking
internal import WebSocket

extension RiderSession {
    func accept(_ answer: ReportQueue.Answer) {
        guard answer.ref != nil else {
            let message = ServerMessage.locationAccepted(answer.job, sequence: answer.sequence)
            self.session.send(Frame.text(message), .ordered)
            return
        }
        self.session.send(
            .ok(replyTo: "location", job: answer.job, sequence: answer.sequence, deadline: nil, ref: answer.ref))
    }

    func refuse(_ answer: ReportQueue.Answer, _ reason: FixRefusal) {
        self.session.send(
            .error(
                Refusal(
                    replyTo: "location", job: answer.job, code: reason.code, message: reason.message,
                    reason: reason.rawValue, ref: answer.ref)))
    }

    /// Sent once for a trip. It is no answer to a report, so it has no ref.
    func notify(ofClockCorrection milliseconds: Int64, _ answer: ReportQueue.Answer) {
        self.session.send(
            .error(
                Refusal(
                    replyTo: "location", job: answer.job, code: FixRefusal.clock.code,
                    message: ClockSkew.notice(ofCorrection: milliseconds), reason: FixRefusal.clock.rawValue)))
    }

    func refuse(_ answer: ReportQueue.Answer, _ code: ErrorCode, _ message: String) {
        self.session.refuse("location", answer.job, code, message, answer.ref)
    }

    func refuseTooMany(_ answer: ReportQueue.Answer) {
        self.refuse(answer, .limitExceeded, "Positions of too many jobs are queued. Send this one again later.")
    }
}
