// Reads the OpenAPI document, and validates responses against its operations.

import Foundation
import TestSupport

@testable import Gateway
@testable import Realtime
@testable import WebAssets

struct OpenAPI: Sendable {
    struct Operation: Sendable {
        /// The method in upper case.
        let method: String
        /// The path with parameters in braces.
        let path: String
        let document: JSONValue
        private let value: JSONValue

        init(_ method: String, _ path: String, _ value: JSONValue, _ document: JSONValue) {
            (self.method, self.path, self.value, self.document) = (method.uppercased(), path, value, document)
        }

        var id: String { self.value["operationId"]?.text ?? "" }
        /// The documented responses by status.
        var statuses: Set<Int> { Set(self.value["responses"]?.object?.keys.compactMap { Int($0) } ?? []) }
        var needsToken: Bool { self.value["security"] == nil }
        var hasBody: Bool { self.value["requestBody"] != nil }

        /// The schemas of the request body by media type.
        private func content(_ value: JSONValue?) -> [String: JSONValue] { value?["content"]?.object ?? [:] }

        /// Returns the violations of a request body by its schema.
        func faults(ofBody body: String, _ mediaType: String) -> [String] {
            guard let content = self.content(self.value["requestBody"])[mediaType], let schema = content["schema"]
            else {
                return ["\(self.id): a body of \(mediaType) is not documented"]
            }
            guard let json = try? JSONValue(json: body.utf8) else { return ["\(self.id): the body is not JSON"] }
            return JSONSchema(document: self.document, isClosed: true).faults(of: json, by: schema, at: self.id)
        }

        /// Returns the violations of a response: in its status, headers, media type and body.
        func faults(of answer: RESTResponse) -> [String] {
            let name = "\(self.id) \(answer.status)"
            guard let documented = self.value["responses"]?["\(answer.status)"] else {
                return ["\(name) is not documented: \(answer.text)"]
            }
            let response = documented.resolved(in: self.document)
            var faults: [String] = []
            for (header, value) in response["headers"]?.object ?? [:] {
                let wanted = value.resolved(in: self.document)
                guard let text = answer.headers[header.lowercased()] else {
                    if wanted["required"] == .bool(true) { faults.append("\(name): the header \(header) is missing") }
                    continue
                }
                let schema = JSONSchema(document: self.document)
                faults += schema.faults(of: .text(text), by: wanted["schema"] ?? .null, at: "\(name) \(header)")
            }
            for header in ["ETag", "Enroute-Durability", "Retry-After", "WWW-Authenticate"]
            where answer.headers[header.lowercased()] != nil && response["headers"]?[header] == nil {
                faults.append("\(name): the header \(header) is not documented")
            }
            return faults + self.faults(ofBodyOf: answer, response, name)
        }

        private func faults(ofBodyOf answer: RESTResponse, _ response: JSONValue, _ name: String) -> [String] {
            let content = self.content(response)
            guard !content.isEmpty else { return answer.text.isEmpty ? [] : ["\(name): a body is not documented"] }
            let mediaType = answer.headers["content-type"].map { String($0.prefix { $0 != ";" }) } ?? ""
            guard let schema = content[mediaType]?["schema"] else {
                return ["\(name): the media type \(mediaType) is not documented"]
            }
            let body = mediaType.hasSuffix("json") ? try? JSONValue(json: answer.text.utf8) : .text(answer.text)
            guard let body else { return ["\(name): the body is not JSON: \(answer.text)"] }
            return JSONSchema(document: self.document, isClosed: true).faults(of: body, by: schema, at: name)
        }

        /// Returns whether the operation's path matches `path`.
        func matches(_ method: String, _ path: String) -> Bool {
            let wanted = self.path.split(separator: "/")
            let parts = path.prefix { $0 != "?" }.split(separator: "/")
            return method == self.method && wanted.count == parts.count
                && zip(wanted, parts).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
        }
    }

    let operations: [Operation]

    init() throws {
        let document = try JSONValue(json: InterfaceDocument.openAPI.json)
        self.operations = (document["paths"]?.object ?? [:]).flatMap { path, item in
            ["get", "put", "post", "delete", "patch"].compactMap { method in
                item[method].map { Operation(method, path, $0, document) }
            }
        }.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    /// Returns the operation of a request.
    func operation(_ method: String, _ path: String) -> Operation? {
        self.operations.first { $0.matches(method, path) }
    }
}
