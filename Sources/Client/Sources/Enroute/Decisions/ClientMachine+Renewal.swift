// The part of the client that renews the session before its token expires, so that the gateway need not close the connection.
// All times are in ms.

extension ClientMachine {
    /// Plans the renewal of a token that contains its expiry.
    mutating func planRenewal(at moment: Moment) {
        self.timers[.renewal] = nil
        guard case .token(let token)? = self.connection.credential, let expiry = TokenRenewal.expiry(of: token) else {
            return
        }
        let serverTime = moment.wall + self.connection.clock.offset
        if let delay = TokenRenewal.delay(expiry: expiry, serverTime: serverTime) {
            self.timers[.renewal] = moment.now + delay
        }
    }

    /// Returns the request that renews the session, if the app's credential is a newer token.
    mutating func renew(with credential: Credential?, at moment: Moment) -> Int? {
        guard self.connection.isOpen else { return nil }
        guard case .token(let token)? = credential, credential != self.connection.credential else {
            self.timers[.renewal] = moment.now + TokenRenewal.retryAfter
            return nil
        }
        return self.request(.refresh(token: token), at: moment)
    }

    mutating func renewed(_ credential: Credential, isAccepted: Bool, at moment: Moment) {
        guard self.connection.isOpen else { return }
        if isAccepted {
            self.connection.renewed(credential)
            self.planRenewal(at: moment)
        } else {
            self.timers[.renewal] = moment.now + TokenRenewal.retryAfter
        }
    }
}
