// A library knows what is wrong with a value, but not which environment variable contains it. The process adds the
// name.

extension ProcessConfiguration {
    /// Returns the result of `read`.
    ///
    /// - Throws: a `ConfigurationError` that begins with the setting's name.
    func naming<Value>(_ name: String, _ read: () throws -> Value) throws -> Value {
        do {
            return try read()
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError(description: "\(name): \(error)")
        }
    }
}
