// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import JobStore

/// What an operator sets. ``Setting/all`` names each value, with its range and where it comes from.
package struct ServiceSettings: Sendable, Hashable {
    /// The address to listen on.
    package var host = "127.0.0.1"
    /// The TCP port; 0 for any free one.
    package var port = 8080
    /// PEM files of the certificate chain and its private key; empty for plain HTTP.
    package var certificate = ""
    package var privateKey = ""
    /// The folder of the job store, uploads, results and logs.
    package var data = ""
    /// Folders from which jobs may read, by the names that requests use: `films=/srv/films`.
    package var roots: [String] = []
    /// The names of those into which results may be written.
    package var writableRoots: [String] = []
    /// Stores of the S3 protocol, by the names that requests use: `main=https://s3.example.com?region=eu-1`.
    package var stores: [String] = []
    /// Their access keys and secrets: `main=ACCESSKEY:SECRET`.
    package var storeCredentials: [String] = []
    /// The same in files, an access key and a secret on two lines: `main=/run/secrets/s3`.
    package var storeCredentialFiles: [String] = []
    /// The secret that clients must send, with all rights; empty if none is needed.
    package var token = ""
    /// Requests per second that the service takes of one key in the long run; 0 for no limit.
    package var requestRate = 100
    /// Wrong keys per minute that may come from one address; 0 for no limit.
    package var wrongKeys = 60
    /// The largest number of pixels that a picture of an input may have.
    package var inputPixels = 8192 * 8192
    /// The largest number of tracks that an input may have.
    package var inputTracks = 100
    /// The longest input, in seconds, as its headers state it; 0 for no limit.
    package var inputDuration = 0
    /// The program that encodes; empty for `vatoolbox` beside this one.
    package var program = ""
    /// How many tasks run at a time; 0 for as many as measured load allows.
    package var workers = 0
    /// How many streams are encoded at a time; 0 for twice ``workers``, or if that is 0, too, one per processor, at least two.
    package var streams = 0
    /// How many live jobs there are at a time; 0 for one per processor, at least two.
    package var live = 0
    /// How long a task may make no progress, in seconds.
    package var stallTimeout = 60.0
    /// The memory that a task may take, in bytes; 0 for no limit.
    package var taskMemory = 0
    /// By how much the nice value of the processes that the service starts is above its own.
    package var niceness = 10
    /// The most sessions of a GPU at a time; 0 for no limit.
    package var mostSessions = 0
    /// How long tasks may go on after SIGTERM, in seconds.
    package var drainTimeout = 3600.0
    /// The largest upload in bytes.
    package var uploadLimit = 64 << 30
    /// How long an upload is kept after its last use, in seconds.
    package var uploadLifetime = 86_400.0
    /// The largest input that the service fetches, in bytes.
    package var inputLimit = 64 << 30
    /// How long a server of an input may send almost nothing, in seconds.
    package var fetchTimeout = 60.0
    /// Free space of the disk, in bytes, below which no task begins and no upload is accepted.
    package var diskReserve = 1 << 30
    /// Memory that must be available for a task to begin beside others, in bytes; 0 for no such limit.
    package var memoryReserve = 256 << 20
    /// Where PostgreSQL keeps the jobs, as libpq takes it; empty for SQLite in the folder.
    package var storeLocation = ""
    /// The name of this node among those that work on the same store.
    package var node = ""
    /// How long a task is kept for a worker that was not heard of, in seconds.
    package var lease = 15.0
    /// How often the job store is backed up, in seconds. It also is when the service ends.
    package var backupInterval = 600.0
    /// Jobs that may wait or run at a time.
    package var jobLimit = 100_000
    /// After how many idle seconds a connection is closed.
    package var idleTimeout = 60.0
    /// Addresses or ranges that the service may connect to although they are private.
    package var allowedAddresses: [String] = []
    /// How often watched folders are read, in seconds.
    package var watchInterval = 5.0
    /// The lowest level of log lines.
    package var logLevel = "info"
    /// `text` or `json`.
    package var logFormat = "text"

    /// The defaults.
    package init() {}

    /// Whether connections are encrypted.
    package var usesTLS: Bool { !certificate.isEmpty }
    /// Whether only programs of this machine can connect.
    package var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }

    /// The limits of inputs, as the option `--input-limits` of the command.
    var inputLimits: String {
        "pixels=\(inputPixels),tracks=\(inputTracks)" + (inputDuration > 0 ? ",duration=\(inputDuration)" : "")
    }

    /// The settings as texts by their keys; of secrets, whether they are set.
    var shownTexts: [String: String] {
        Dictionary(
            uniqueKeysWithValues: Setting.all.map { setting in
                let text = setting.show(self).joined(separator: ",")
                return (setting.key, setting.isSecret ? (text.isEmpty ? "not set" : "set") : text)
            }
        )
    }

    /// The media roots by name.
    package var mediaRoots: [String: String] {
        Dictionary(roots.compactMap(Self.root)) { first, _ in first }
    }

    /// The media roots into which results may be written, by name.
    var writableMediaRoots: [String: String] { mediaRoots.filter { writableRoots.contains($0.key) } }

    static func root(_ text: String) -> (String, String)? {
        guard let sign = text.firstIndex(of: "=") else { return nil }
        let (name, path) = (text[..<sign], text[text.index(after: sign)...])
        guard !name.isEmpty, name.utf8.allSatisfy(isNameByte), path.hasPrefix("/") else { return nil }
        return (String(name), String(path))
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Checks where jobs are kept. The location may have a password, so that no error has it.
    private func validateStore() throws(SettingsError) {
        guard storeLocation.isEmpty || PostgreSQLJobStore.isLocation(storeLocation) else {
            throw SettingsError(
                "store.location is malformed",
                given: "a text of \(storeLocation.utf8.count) bytes, which is not shown",
                allowed: "postgresql://USER@HOST[:PORT]/DATABASE[?…], or host=… user=… dbname=…, as libpq takes it"
            )
        }
        let isName = node.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F && $0 != "/" }
        guard isName, !node.isEmpty, node.utf8.first != UInt8(ascii: "."), node.utf8.count <= Self.longestNode else {
            throw SettingsError(
                "store.node is no name of a node",
                given: node.isEmpty ? "an empty text" : node,
                allowed: "1 to \(Self.longestNode) bytes without / and spaces that do not begin with a dot"
            )
        }
    }

    /// What a file may be named with an ending.
    private static let longestNode = 200

    /// The name of this machine.
    static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Makes sure that the settings of the HTTP server do not contradict each other. Workers have none.
    ///
    /// - Throws: The first contradiction.
    package func validateServer() throws(SettingsError) {
        if certificate.isEmpty != privateKey.isEmpty {
            throw SettingsError(
                "the certificate and its private key belong together",
                given: certificate.isEmpty ? "tls.key alone" : "tls.certificate alone",
                allowed: "both or none"
            )
        }
        guard isLoopback || !token.isEmpty else {
            throw SettingsError(
                "without a token, only programs of this machine may connect",
                given: "listen.host=\(host) and no access.token",
                allowed: "127.0.0.1, ::1 or localhost without a token; any address with one"
            )
        }
    }

    /// Checks what no single value shows.
    ///
    /// - Throws: The first contradiction.
    package func validate() throws(SettingsError) {
        for text in allowedAddresses where AddressRange(text) == nil {
            throw SettingsError(
                "an address is malformed",
                given: text,
                allowed: "addresses and ranges, such as 10.1.0.0/16"
            )
        }
        for name in writableRoots where mediaRoots[name] == nil {
            throw SettingsError(
                "a writable media root does not exist",
                given: name,
                allowed: mediaRoots.isEmpty
                    ? "none: there is no media root" : mediaRoots.keys.sorted().joined(separator: ", ")
            )
        }
        try validateStores()
        try validateStore()
        for (index, text) in roots.enumerated() {
            guard let (name, _) = Self.root(text) else {
                throw SettingsError(
                    "a media root is malformed",
                    given: text,
                    allowed: "NAME=/FOLDER, where NAME has letters, digits, - and _"
                )
            }
            guard !roots[..<index].contains(where: { Self.root($0)?.0 == name }) else {
                throw SettingsError("two media roots have the same name", given: name, allowed: "different names")
            }
        }
    }
}

/// A setting that is not allowed.
package struct SettingsError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, as a sentence without a period.
    package var message: String
    /// The value given.
    package var given: String
    /// The values allowed.
    package var allowed: String

    /// Makes an error.
    package init(_ message: String, given: String, allowed: String) {
        self.message = message
        self.given = given
        self.allowed = allowed
    }

    package var description: String { "\(message) (given \(given); allowed: \(allowed))" }
}
