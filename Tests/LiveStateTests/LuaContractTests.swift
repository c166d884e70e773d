import LiveState
import Redis
import Testing

/// Every script states its contract in the same form at the same place, and is the one embedded in the binary.
@Suite struct LuaContractTests {
    private static let embedded = [
        Scripts.assignJob, Scripts.createJob, Scripts.publishStatus, Scripts.recoverJob, Scripts.startTravel,
        Scripts.stopTravel, Scripts.openFeed, Scripts.closeFeed, Scripts.noteVerdicts, Scripts.publishETA,
        Scripts.publishLocation, Scripts.releaseFeed, Scripts.keepPush, Scripts.takePush, Scripts.revokeGrant,
        Scripts.correctJob, Scripts.recordLate, Scripts.refreshJob, Scripts.keepNote, Scripts.eraseJob,
        Scripts.dropListed,
        Scripts.listLink, Scripts.dropLink, Scripts.issueLink, Scripts.joinLink,
        Scripts.describeJob, Scripts.noteJob, Scripts.claimRequest,
        Scripts.settleRequest,
        Scripts.describeRider, Scripts.removeRider, Scripts.finishJoining, Scripts.setRiderOnline,
        Scripts.setRiderOffline,
        Scripts.riderHeartbeat, Scripts.expireRider, Scripts.assignRider, Scripts.advanceTask, Scripts.releaseRider,
        Scripts.riderSnapshot, Scripts.zoneSnapshot, Scripts.placeRiders,
        Scripts.holdLease, Scripts.parkEvent, Scripts.settleEvent, Scripts.replayEvent, Scripts.noteWebhook,
        Scripts.forgetEvents, Scripts.forwardEvent,
        Scripts.dropWaiting, Scripts.enlistWebhook, Scripts.rotateWebhook, Scripts.switchOnWebhook,
    ]

    /// The comment at the top, without the dashes.
    private func header(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().prefix { $0.hasPrefix("--") }
            .map { String($0.dropFirst(2).drop { $0 == " " }) }
    }

    /// How many lines of the header start with `word[1]`, `word[2]`, … in this order.
    private func numbered(_ word: String, in header: [String]) -> Int {
        let lines = header.filter { $0.hasPrefix(word + "[") }
        for (index, line) in lines.enumerated() { #expect(line.hasPrefix("\(word)[\(index + 1)]"), "\(line)") }
        return lines.count
    }

    /// The number that a script compares with `#word`.
    private func checked(_ word: String, in text: String) -> Int? {
        text.firstRange(of: "#\(word) ~= ").flatMap { Int(text[$0.upperBound...].prefix { $0.isNumber }) }
    }

    @Test func `every file of the folder is embedded in the binary under its own name`() throws {
        let files = try LuaFolder.scripts()
        #expect(files.count == Self.embedded.count)
        for (name, text) in files {
            let script = try #require(Self.embedded.first { $0.name == name }, "\(name)")
            // Not in one expression, which would print both texts as numbers.
            let isSame = script.source == Array(text.utf8)
            #expect(isSame, "\(name) was changed since the build")
        }
    }

    @Test func `every script starts with its name and a sentence`() throws {
        for (name, text) in try LuaFolder.scripts() {
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.first?.wholeMatch(of: /#!lua( flags=[a-z,-]+)?/) != nil, "\(name)")
            #expect(lines.dropFirst().first?.hasPrefix("-- \(name): ") == true, "\(name)")
            #expect(self.header(text).first?.hasSuffix(".") == true, "\(name)")
        }
    }

    @Test func `every script states its role, errors, replies and cost`() throws {
        for (name, text) in try LuaFolder.scripts() {
            let header = self.header(text)
            let roles = header.filter { $0.hasPrefix("Role     ") }.map { String($0.dropFirst(9)) }
            #expect(roles == ["live"] || roles == ["ledger"], "\(name)")
            #expect(
                header.contains { $0.hasPrefix("Errors   'ERR \(name): ...' on a bad argument; nothing is written") },
                "\(name)")
            #expect(header.contains { $0.hasPrefix("Returns  {") }, "\(name)")
            #expect(header.contains { $0.hasPrefix("Cost     O(") }, "\(name)")
        }
    }

    @Test func `every script describes as many keys and arguments as it checks`() throws {
        for (name, text) in try LuaFolder.scripts() {
            let header = self.header(text)
            #expect(self.numbered("KEYS", in: header) == self.checked("KEYS", in: text), "\(name)")
            #expect(self.numbered("ARGV", in: header) == self.checked("ARGV", in: text), "\(name)")
        }
    }

    @Test func `every key that a script uses is passed to it`() throws {
        for (name, text) in try LuaFolder.scripts() {
            let body = text.split(separator: "\n").filter { !$0.hasPrefix("--") }
            for line in body where line.contains("redis.call(") && !line.contains("'TIME'") {
                #expect(line.contains("KEYS["), "\(name): \(line)")
            }
        }
    }

    @Test func `every script that extends the life of a job's record extends that of its log`() throws {
        var extending: [String] = []
        for (name, text) in try LuaFolder.scripts() where text.contains("PEXPIRE', KEYS[1], retention") {
            let header = self.header(text)
            guard header.contains(where: { $0.hasPrefix("KEYS[1]  job:{<job>} ") }) else { continue }
            #expect(header.contains { $0.hasPrefix("KEYS[2]  job:{<job>}:log ") }, "\(name)")
            #expect(text.contains("PEXPIRE', KEYS[2], retention"), "\(name)")
            extending.append(name)
        }
        #expect(extending.count == 8)
    }

    @Test func `every error of a script starts with its name`() throws {
        for (name, text) in try LuaFolder.scripts() {
            let replies = text.split(separator: "\n").filter { $0.contains("redis.error_reply(") }
            #expect(!replies.isEmpty)
            for reply in replies { #expect(reply.contains("ERR \(name): "), "\(reply)") }
        }
    }

    @Test func `no script writes a global variable`() throws {
        for (name, text) in try LuaFolder.scripts() {
            var locals: Set<String> = []
            for line in text.split(separator: "\n") where !line.hasPrefix("--") {
                let code = line.drop { $0 == " " }
                #expect(!code.hasPrefix("function "), "\(name): \(line)")
                for declaration in line.split(separator: "local ").dropFirst(line.hasPrefix("local ") ? 0 : 1) {
                    locals.formUnion(self.names(declaration.prefix { $0 != "=" }))
                }
                if code.hasPrefix("for ") { locals.formUnion(self.names(code.dropFirst(4).prefix { $0 != "=" })) }
                guard let target = self.assigned(code) else { continue }
                for variable in target { #expect(locals.contains(variable), "\(name): \(line)") }
            }
        }
    }

    private func names(_ text: Substring) -> [String] {
        text.split(whereSeparator: { !($0.isLetter || $0.isNumber || $0 == "_") }).map { String($0) }
    }

    /// The variables that a statement `a, b = …` or `if … then a = …` assigns to.
    private func assigned(_ code: Substring) -> [String]? {
        let statement = code.split(separator: " then ").last ?? code
        guard let equals = statement.firstRange(of: " = ") else { return nil }
        let left = statement[..<equals.lowerBound]
        guard left.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" || $0 == "," || $0 == " " }) else { return nil }
        return left.hasPrefix("local ") || left.hasPrefix("for ") ? nil : self.names(left)
    }
}
