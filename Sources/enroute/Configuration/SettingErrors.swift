// Which setting an error is about: what reads a value knows what is wrong with it, but not what the setting is called.

extension ProcessConfiguration {
    /// The value that `read` makes of the setting `name`.
    ///
    /// - Throws: `ConfigurationError` that begins with the name, whatever `read` throws.
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
