// The messages of the WebSocket: members, examples, and which messages answer which.

extension APIReference {
    var messageGroups: [Group] {
        let operations = (self.asyncAPI["operations"]?.object ?? [:]).sorted { $0.key < $1.key }.map(\.value)
        return [
            ("receive", "client-messages", "WebSocket: from the client"),
            ("send", "gateway-messages", "WebSocket: from the gateway"),
        ].map { action, id, title in
            let own = operations.filter { $0["action"]?.text == action }
            let entries = own.flatMap { operation in
                (operation["messages"]?.array ?? []).map { message in
                    self.message(message, answers: operation["reply"]?["messages"]?.array ?? [], action)
                }
            }
            let text = self.asyncAPI["channels"]?["session"]?["description"]?.text ?? ""
            return Group(id: id, title: title, text: text, entries: entries)
        }
    }

    private func message(_ reference: DocumentValue, answers: [DocumentValue], _ action: String) -> Entry {
        let key = reference.referenceName ?? ""
        let message = reference.resolved(in: self.asyncAPI)
        let (id, name) = ("message-\(key)", message["name"]?.text ?? key)
        let label = #"<span class="method">\#(action == "receive" ? "send" : "receive")</span> \#(Self.code(name))"#
        var html = Self.heading(id, label)
        html += #"<p class="summary">\#(Self.prose(message["summary"]?.text ?? ""))</p>"#
        if let description = message["description"]?.text { html += "<p>\(Self.prose(description))</p>" }
        if !answers.isEmpty {
            let names = answers.compactMap(\.referenceName).map {
                ##"<a href="#message-\##($0)">\##(Self.code($0))</a>"##
            }
            html += "<p>Answered by: \(names.joined(separator: ", ")).</p>"
        }
        html += self.members("Members", message["payload"] ?? .object([:]), in: self.asyncAPI)
        for example in message["examples"]?.array ?? [] {
            let title = example["name"]?.text.map { "Example: \($0)" } ?? "Example"
            html += Self.example(title, (example["payload"] ?? .null).pretty())
        }
        return Entry(id: id, label: label, html: html)
    }
}
