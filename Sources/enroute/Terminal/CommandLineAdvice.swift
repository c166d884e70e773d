// Details that ArgumentParser's errors lack: that a value is empty, and which command or option was probably meant.

import ArgumentParser

/// The arguments of the process, without its name.
struct CommandLineWords {
    let words: [String]

    /// The maximum number of characters in which a name may differ from the one that was meant, as in `stauts`.
    private static let mostTypos = 2

    /// Checks that no option and no argument is empty. The usual cause is a shell variable that is not set.
    ///
    /// - Throws: `ValidationError` that names the place.
    func requireValues() throws {
        // The shell requests completions for what has been typed so far.
        guard self.words.first?.hasPrefix("---completion") != true else { return }
        for (index, word) in self.words.enumerated() {
            let before = index > 0 ? self.words[index - 1] : ""
            if word.hasPrefix("--"), word.hasSuffix("=") {
                throw Self.empty("\(word.dropLast())")
            } else if word.isEmpty, before.hasPrefix("--") {
                throw Self.empty(before)
            } else if word.isEmpty {
                // Without the previous words, because one may be a token.
                throw Self.empty("Argument \(index + 1) of enroute")
            }
        }
    }

    private static func empty(_ place: String) -> ValidationError {
        ValidationError("\(place) must be a value that is not empty. If it is a variable of the shell, set it first.")
    }

    /// Adds advice to an ArgumentParser error about an unknown command or option.
    ///
    /// - Parameter root: the command that the words belong to.
    /// - Returns: the error, unchanged if there is no advice.
    func completing(_ error: String, of root: any ParsableCommand.Type) -> String {
        let isAboutNames = error.contains(
            /^Error: (Unexpected argument|\d+ unexpected arguments|Missing expected|Unknown option)/)
        guard isAboutNames, !error.contains("Did you mean"),
            let hint = self.hint(in: root, isOptionNamed: error.hasPrefix("Error: Unknown option"))
        else { return error }
        var lines = error.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        lines[0] += ". \(hint)"
        return lines.joined(separator: "\n")
    }

    private func hint(in root: any ParsableCommand.Type, isOptionNamed: Bool) -> String? {
        let (command, rest) = self.command(in: root)
        let unknownOption = self.unknownOption(of: command.configuration.defaultSubcommand ?? command)
        if let (word, meant) = unknownOption {
            let suggestion = meant.map { "Did you mean '\($0)'?" }
            let parts = [isOptionNamed ? nil : "Unknown option '\(word)'.", suggestion].compactMap { $0 }
            return parts.isEmpty ? nil : parts.joined(separator: " ")
        }
        // A key path or a function reference crashes the compiler here (Swift 6.3).
        let names = command.configuration.subcommands.filter { $0.configuration.shouldDisplay }
            .flatMap { Self.names(of: $0) }
        return rest.flatMap { Self.nearest(to: $0, of: names) }.map { "Did you mean '\($0)'?" }
    }

    /// The command that the first words name, and the next word unless it is an option.
    private func command(in root: any ParsableCommand.Type) -> (command: any ParsableCommand.Type, rest: String?) {
        var command = root
        for word in self.words {
            guard !word.hasPrefix("-") else { return (command, nil) }
            guard let next = command.configuration.subcommands.first(where: { Self.names(of: $0).contains(word) })
            else { return (command, word) }
            command = next
        }
        return (command, nil)
    }

    private static func names(of command: any ParsableCommand.Type) -> [String] {
        [command._commandName] + command.configuration.aliases
    }

    /// The first option that the command does not have, and the most similar one that it has.
    private func unknownOption(of command: any ParsableCommand.Type) -> (word: String, meant: String?)? {
        let known = command.helpMessage(includeHidden: true, columns: 1_000).matches(of: /--[a-z-]+/).map {
            String($0.0)
        }
        let used = self.words.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
        guard let word = used.first(where: { $0 != "--" && !known.contains($0) }) else { return nil }
        return (word, Self.nearest(to: word, of: known))
    }

    private static func nearest(to word: String, of names: [String]) -> String? {
        let best = names.map { (name: $0, distance: word.editDistance(to: $0)) }.min {
            ($0.distance, $0.name) < ($1.distance, $1.name)
        }
        return best.flatMap { $0.distance <= Self.mostTypos ? $0.name : nil }
    }
}
