// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import Logging
internal import NIOHTTP1
internal import ServiceAPI

/// What a delivery has begun at its destination, and would be left there if the service was killed.
enum PendingTransfer: Sendable, Hashable {
    /// Parts of an object.
    case parts(store: String?, bucket: String, key: String, upload: String)
    /// A file with a temporary name.
    case file(folder: String, name: String)

    var json: JSONValue {
        switch self {
        case .parts(let store, let bucket, let key, let upload):
            var object: JSONObject = ["bucket": .string(bucket), "key": .string(key), "upload": .string(upload)]
            object["store"] = store.map(JSONValue.string)
            return .object(object)
        case .file(let folder, let name): return ["folder": .string(folder), "name": .string(name)]
        }
    }

    init?(_ json: JSONValue) {
        if let bucket = json["bucket"]?.string, let key = json["key"]?.string, let upload = json["upload"]?.string {
            self = .parts(store: json["store"]?.string, bucket: bucket, key: key, upload: upload)
        } else if let folder = json["folder"]?.string, let name = json["name"]?.string {
            self = .file(folder: folder, name: name)
        } else {
            return nil
        }
    }
}

/// The transfers that have begun, each in a file until it has ended. Those that a killed service has left are removed
/// from their destinations after the next start.
struct PendingTransfers: Sendable {
    /// The folder of the files.
    let folder: String
    let stores: ObjectStores
    let roots: WritableRoots
    let logger: Logger

    /// Names a file of the folder.
    struct Record: Sendable, Hashable {
        fileprivate var path: String
        fileprivate var transfer: PendingTransfer
    }

    /// Notes a transfer. When this returns, the note survives a power loss.
    func add(_ transfer: PendingTransfer) async throws -> Record {
        let record = Record(path: "\(folder)/\(Identifier.make(at: Clock.now)).json", transfer: transfer)
        try await FileWork.run { try Files.replace(record.path, with: transfer.json.bytes) }
        return record
    }

    /// A transfer has ended well.
    func forget(_ record: Record) async {
        do { try await FileWork.run { try Files.remove(record.path) } } catch {
            logger.error("the note of a delivery cannot be removed", metadata: ["error": "\(error)"])
        }
    }

    /// Removes what a transfer has left; if that fails, the next start tries again.
    func settle(_ record: Record) async {
        do {
            switch record.transfer {
            case .file(let folder, let name):
                try await WaitingThreads.mediaRoots.run { [roots] in try roots.remove(name, in: folder) }
            case .parts(let name, let bucket, let key, let upload):
                let store = try stores.store(name, field: "store")
                let answer = try await store.withClient { client in
                    try await store.send(.DELETE, bucket, key, query: ["uploadId": upload], by: client)
                }
                guard [200, 204, 404].contains(answer.status) else {
                    throw TransferFailure.storage(answer, to: "to remove parts of s3://\(bucket)/\(key)")
                }
            }
            await forget(record)
        } catch {
            logger.warning("what a delivery has left cannot be removed", metadata: ["error": "\(error)"])
        }
    }

    /// What an earlier process has left. Call it before any delivery begins.
    func left() throws(FileError) -> [Record] {
        var records: [Record] = []
        for name in try Files.names(in: folder) where name.hasSuffix(".json") {
            let path = "\(folder)/\(name)"
            guard let bytes = try Files.read(path), let json = try? JSONValue(parsing: bytes),
                let transfer = PendingTransfer(json)
            else { continue }
            records.append(Record(path: path, transfer: transfer))
        }
        return records
    }
}
