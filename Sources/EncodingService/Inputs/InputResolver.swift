// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import HostSystem
internal import ServiceAPI

/// Finds the files of inputs.
struct InputResolver: Sendable {
    let data: DataFolder
    /// `nil` on a node that takes no requests.
    let uploads: UploadStore?
    /// Folders by the names that requests use.
    let roots: [String: String]
    let client: PinnedClient
    let stores: ObjectStores
    let fetcher: InputFetcher

    /// Checks the input of a request.
    ///
    /// - Returns: The ID of the upload that it names; `nil` if it names none.
    /// - Throws: `APIError`.
    func resolve(_ input: Input) async throws -> String? {
        if let upload = input.upload {
            guard let uploads else { throw APIError(.internal, "This node takes no requests") }
            return try await uploads.file(upload, field: "/input/upload").id
        }
        if let path = input.path { _ = try await FileWork.run { [self] in try mediaFile(path) } }
        if let object = input.s3 { _ = try stores.store(object.store, field: "/input/s3/store") }
        if let url = input.url {
            do throws(TransferFailure) { _ = try WebLocation(url) } catch {
                throw APIError(
                    .invalidRequest,
                    error.message,
                    field: "/input/url",
                    value: .string(InputSource.url(url).publicText),
                    allowed: "a URL of http or https without user and password"
                )
            }
        }
        return nil
    }

    /// How an input is fetched, if it has to be.
    struct Fetching: Sendable {
        /// A folder, which is made for it.
        var folder: String
        /// Seconds that it may take.
        var timeLimit: Double?
        /// Is told the bytes that are fetched, and those of the whole file if they are known.
        var onProgress: @Sendable (Int, Int?) -> Void = { _, _ in }
        /// Is told why and where the fetch begins to go on.
        var onInterruption: @Sendable (String) -> Void = { _ in }
    }

    /// The file of an input that was checked: one that is there, or one that is fetched.
    ///
    /// - Parameter upload: The ID of the upload.
    /// - Throws: `APIError`; `TransferFailure`; `FileError`.
    func file(of input: Input, upload: String?, _ fetching: Fetching) async throws -> String {
        if let id = upload {
            guard let path = try await FileWork.run({ [data] in try UploadRecord.file(ofID: id, in: data) }) else {
                throw APIError(
                    .gone,
                    "The upload of this job is not there any more",
                    field: "/input/upload",
                    value: .string(id)
                )
            }
            return path
        }
        if let origin = try origin(of: input) {
            let path = "\(fetching.folder)/data"
            try await FileWork.run { try Files.makeFolder(fetching.folder) }
            try await fetcher.fetch(
                origin,
                into: path,
                timeLimit: fetching.timeLimit,
                onProgress: fetching.onProgress,
                onInterruption: fetching.onInterruption
            )
            return path
        }
        return try await FileWork.run { [self] in try mediaFile(input.path ?? "") }
    }

    /// Where an input is fetched from; `nil` if it is here.
    ///
    /// - Throws: `APIError` `not-found` for a store that is not there any more.
    func origin(of input: Input) throws(APIError) -> (any FetchOrigin)? {
        if let object = input.s3 {
            return StoreOrigin(store: try stores.store(object.store, field: "/input/s3/store"), object: object)
        }
        return input.url.map { WebOrigin(url: $0, client: client) }
    }

    /// Calls `body` with the file of an input for a request that waits for the answer. What has to be fetched for it is
    /// removed afterwards.
    ///
    /// - Parameter folder: A folder that does not exist.
    /// - Throws: `APIError`; `FileError`; errors of `body`.
    func withFile<Value: Sendable>(
        of input: Input,
        upload: String?,
        folder: String,
        _ body: (String) async throws -> Value
    ) async throws -> Value {
        defer { Task { try? await FileWork.run { try Files.remove(folder) } } }
        let path: String
        do {
            let fetching = Fetching(folder: folder, timeLimit: Self.longestWait)
            path = try await file(of: input, upload: upload, fetching)
        } catch let failure as TransferFailure {
            throw APIError(
                .invalidRequest,
                "The input cannot be fetched: \(failure.message)",
                field: "/input",
                value: .string(failure.code.rawValue),
                remedies: failure.code.remedies
            )
        }
        return try await body(path)
    }

    /// The seconds for which a request waits for an input that is fetched.
    private static let longestWait = 60.0

    /// Returns the real path of a file below a media root. Neither `..` nor links lead out of it.
    private func mediaFile(_ text: String) throws -> String {
        try withMedia(text, "file") { descriptor in Files.size(of: descriptor) != nil }
    }

    /// Returns the real path of a folder below a media root. Neither `..` nor links lead out of it.
    ///
    /// - Throws: `APIError` `not-found`.
    func mediaFolder(_ text: String) throws -> String {
        try withMedia(text, "folder") { descriptor in Files.isFolder(descriptor) }
    }

    /// The path of a folder below a media root, which need not be there.
    func likelyPath(_ text: String) -> String {
        if let path = try? mediaFolder(text) { return path }
        let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
        return (roots[String(text[..<slash])] ?? "") + text[slash...]
    }

    private func withMedia(_ text: String, _ kind: String, _ isRight: (Int32) -> Bool) throws -> String {
        func refused(_ reason: String, _ allowed: String) -> APIError {
            APIError(.notFound, reason, field: "/input/path", value: .string(text), allowed: allowed)
        }
        let names = roots.keys.sorted().map { "\($0)/…" }.joined(separator: ", ")
        guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")), let root = roots[String(text[..<slash])] else {
            throw refused(
                "There is no such media root",
                names.isEmpty ? "no path: the service has no media roots" : names
            )
        }
        let path = String(text[text.utf8.index(after: slash)...])
        guard !path.isEmpty, !path.utf8.contains(0) else { throw refused("The path names no \(kind)", names) }
        let folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw FileError("open", root) }
        defer { close(folder) }
        let file = linux_open_beneath(folder, path, 1)
        guard file >= 0 else {
            switch errno {
            case EXDEV: throw refused("The path leads out of its media root", "a \(kind) below \(text[...slash])")
            case EACCES:
                throw refused("The service may not read this \(kind)", "a \(kind) that user \(getuid()) may read")
            default: throw refused("There is no such \(kind)", "a \(kind) below \(text[...slash])")
            }
        }
        defer { close(file) }
        guard isRight(file) else {
            throw refused("The path names no \(kind)", "a \(kind == "file" ? "regular file" : kind)")
        }
        // Confinement is by path. What it names now is what was opened.
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink("/proc/self/fd/\(file)", &buffer, buffer.count - 1)
        guard count > 0 else { throw FileError("readlink", text) }
        return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
