// Names members of a JSON text in error messages.

extension [any CodingKey] {
    /// The path of a member as programs write it: `display.items[0]`.
    package var memberPath: String {
        self.reduce(into: "") { path, key in
            if let index = key.indexInArray {
                path += "[\(index)]"
            } else {
                path += path.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}

extension CodingKey {
    /// The index of an element of an array; `nil` for a member of an object, whose name may be a number too.
    package var indexInArray: Int? {
        self.intValue.flatMap { self.stringValue == String($0) ? nil : $0 }
    }
}
