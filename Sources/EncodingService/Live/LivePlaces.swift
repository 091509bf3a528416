// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import ServiceAPI
internal import Synchronization

/// The files and folders of live jobs, and what their requests may name.
struct LivePlaces: Sendable {
    /// `live` of the data folder: `ID.json` with the request, and `ID/INDEX/` with what the service delivers.
    let folder: String
    let inputs: InputResolver
    let roots: WritableRoots
    let addresses: AddressPolicy

    // MARK: Requests

    /// Checks what a request names, and makes the folders of its outputs.
    ///
    /// - Throws: `APIError`.
    func check(_ request: LiveRequest) async throws {
        for (index, input) in request.inputs.enumerated() {
            if let url = input.url { try check(url, field: "/inputs/\(index)/url") }
            if let path = input.path { _ = try await file(path, field: "/inputs/\(index)/path") }
        }
        for (index, output) in request.outputs.enumerated() {
            if let url = output.url { try check(url, field: "/outputs/\(index)/url") }
            guard let hls = output.hls, let path = hls.path else { continue }
            let field = "/outputs/\(index)/hls/path"
            try roots.check(path, field: field)
            let real = try await realFolder(path, field: field)
            let hasStream = try await WaitingThreads.mediaRoots.run { try Files.status("\(real)/index.m3u8") != nil }
            guard !hasStream || hls.overwrite else {
                throw APIError(
                    .conflict,
                    "The folder has a stream already",
                    field: field,
                    value: .string(path),
                    allowed: "an empty or a new folder, or overwrite"
                )
            }
        }
    }

    /// Refuses a URL with an address that is not allowed. Names are looked up by the process, at each connection.
    private func check(_ url: String, field: String) throws(APIError) {
        let authority = url.drop { $0 != "/" }.dropFirst(2).prefix { !"/?#".contains($0) }
        let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let host: Substring
        if place.first == "[", let end = place.firstIndex(of: "]") {
            host = place[..<end].dropFirst()
        } else {
            host = place[..<(place.lastIndex(of: ":") ?? place.endIndex)]
        }
        // Without a host, it listens at all addresses of this machine.
        guard let address = IPAddress(host.isEmpty ? "0.0.0.0" : String(host)) else { return }
        let isTrusted = addresses.names(address)
        // A server of RTSP can send its clients elsewhere.
        guard !isTrusted, url.hasPrefix("rtsp:") || !addresses.allows(address) else { return }
        throw APIError(
            .invalidRequest,
            "The service may not connect to this address, or listen at it",
            field: field,
            value: .string(LiveAddress(url).shown),
            allowed: "public addresses, and those of network.allow; for rtsp only the latter"
        )
    }

    private func file(_ path: String, field: String) async throws -> String {
        let file: String
        do {
            file = try await inputs.file(of: Input(.path(path)), upload: nil, .init(folder: ""))
        } catch var error as APIError {
            error.field = field
            throw error
        }
        guard LiveArguments.canTell(input: file) else {
            throw Self.refusal(path, field, allowed: "a path without \\")
        }
        return file
    }

    private func realFolder(_ path: String, field: String) async throws -> String {
        let real: String
        do {
            real = try await WaitingThreads.mediaRoots.run { [roots] in try roots.open(path).realPath }
        } catch let failure as TransferFailure {
            throw Self.refusal(path, field, failure.message, allowed: "a folder that the service may write")
        }
        guard LiveArguments.canTell(output: real) else { throw Self.refusal(path, field, allowed: "a path without ?") }
        return real
    }

    private static func refusal(
        _ path: String,
        _ field: String,
        _ message: String = "The path cannot be used for live jobs",
        allowed: String
    ) -> APIError {
        let sentence = message.prefix(1).uppercased() + message.dropFirst()
        return APIError(.invalidRequest, sentence, field: field, value: .string(path), allowed: allowed)
    }

    // MARK: Processes

    /// The files and folders of a job, which are there then.
    func open(_ record: LiveRecord) async throws -> LiveArguments.Places {
        var places = LiveArguments.Places()
        for (index, input) in record.request.inputs.enumerated() {
            if let path = input.path { places.inputs[index] = try await file(path, field: "/inputs/\(index)/path") }
        }
        for (index, output) in record.request.outputs.enumerated() {
            guard let hls = output.hls else { continue }
            if let path = hls.path {
                places.outputs[index] = try await realFolder(path, field: "/outputs/\(index)/hls/path")
            } else {
                let folder = delivered(record.id, index)
                try await FileWork.run { try Files.makeFolder(folder) }
                places.outputs[index] = folder
            }
        }
        return places
    }

    /// The folder of an output that the service delivers.
    func delivered(_ id: String, _ output: Int) -> String { "\(folder)/\(id)/\(output)" }

    // MARK: Records

    /// What is stored of each job, by its ID.
    func records() throws -> [(String, [UInt8])] {
        try Files.names(in: folder).filter { $0.hasSuffix(Self.ending) }.compactMap { name in
            try Files.read("\(folder)/\(name)").map { (String(name.dropLast(Self.ending.count)), $0) }
        }
    }

    /// Stores a job, or removes it with all its files.
    func write(_ record: [UInt8]?, of id: String) throws {
        let path = "\(folder)/\(id)\(Self.ending)"
        if let record { return try Files.replace(path, with: record) }
        try Files.remove(path)
        try Files.remove("\(folder)/\(id)")
    }

    private static let ending = ".json"
}

extension OpenFolder {
    /// Its path without links. Confinement is by path; what it names now is what was opened.
    fileprivate var realPath: String {
        get throws {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
            let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count - 1)
            guard count > 0 else { throw FileError("readlink", "a folder of a live job") }
            return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }
}

/// The processes of live jobs, as admission counts them: like streams, they take no place of tasks, and their load counts.
final class LiveLoad: Sendable {
    private let state = Mutex<[String: Admission.Task]>([:])

    func add(_ id: String, _ resource: Admission.Resource) {
        state.withLock { $0[id] = Admission.Task(resource: resource, begin: Clock.monotonic) }
    }
    func remove(_ id: String) { state.withLock { $0[id] = nil } }
    var tasks: [Admission.Task] { state.withLock { Array($0.values) } }
}
