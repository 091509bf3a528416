// SPDX-License-Identifier: GPL-2.0-or-later

internal import NIOCore

/// What waits to be sent to a server: files, the playlists that name them, and what the server shall delete.
///
/// The order is kept: no playlist is sent before the files that it names. A file that waits for too long is left out, and
/// the playlists say that it is missing. All times are in seconds of one clock.
struct UploadQueue: Sendable {
    /// The limits of a queue.
    struct Limits: Sendable, Hashable {
        /// The age in seconds at which a file comes too late for players.
        var age = 12.0
        /// The number of bytes above which the oldest files are left out.
        var byteCount = 256 << 20
    }

    /// A file that is complete.
    struct File: Sendable {
        var path: String
        var content: [ByteBuffer]
        var arrival: Double
        /// Whether nothing can be played without it, however late it comes.
        var isNeeded: Bool

        var byteCount: Int { content.reduce(0) { $0 + $1.readableBytes } }
    }

    /// What can be sent next, in any order.
    enum Work: Sendable {
        case files([File])
        case playlists([PublishedTexts.Text])
        case deletions([String])
    }

    private enum Entry {
        case media(File)
        case state(PresentationState)

        var file: File? { if case .media(let file) = self { file } else { nil } }
    }

    /// The limits.
    var limits: Limits
    /// The files that were left out, while playlists name them.
    private(set) var missing: Set<String> = []
    /// The number of files that were left out.
    private(set) var missingCount = 0
    /// The number of bytes of files that were added and not left out.
    private(set) var addedBytes: Int64 = 0
    /// The number of bytes of files that wait.
    private(set) var waitingBytes = 0

    private var entries: [Entry] = []
    private var deletions: [String] = []
    private var texts = PublishedTexts()

    /// The number of files that are sent at the same time.
    static let mostFiles = 4

    init(limits: Limits = Limits()) { self.limits = limits }

    /// Whether nothing but deletions waits.
    var isEmpty: Bool { entries.isEmpty }

    /// How long the oldest file has been waiting.
    func age(at now: Double) -> Double {
        entries.lazy.compactMap(\.file).first.map { max(now - $0.arrival, 0) } ?? 0
    }

    mutating func add(_ file: File) {
        entries.append(.media(file))
        waitingBytes += file.byteCount
        addedBytes += Int64(file.byteCount)
    }

    /// Adds the playlists of a moment, which name files that were added before.
    mutating func add(_ state: PresentationState) {
        // Nobody needs an older one that names nothing new.
        if case .state = entries.last { entries.removeLast() }
        entries.append(.state(state))
    }

    /// Adds files that the server shall delete, when it has nothing else to do.
    mutating func add(deletions paths: [String]) {
        deletions += paths.filter { missing.remove($0) == nil }
    }

    /// Forgets what the server shall delete.
    mutating func removeDeletions() { deletions = [] }

    /// Leaves out what is too late, and returns what can be sent; `nil` if nothing waits.
    mutating func next(at now: Double) -> Work? {
        leaveOut(at: now)
        while let first = entries.first {
            switch first {
            case .media: return .files(firstFiles)
            case .state(let state):
                let present = state.withoutFiles(missing)
                let media = texts.mediaPlaylists(of: present)
                if !media.isEmpty { return .playlists(media) }
                if let text = texts.multivariantPlaylist(of: present) { return .playlists([text]) }
                entries.removeFirst()
            }
        }
        return deletions.isEmpty ? nil : .deletions(Array(deletions.prefix(Self.mostFiles)))
    }

    private var firstFiles: [File] {
        entries.prefix(Self.mostFiles).prefix { $0.file != nil }.compactMap(\.file)
    }

    /// Notes that the server has a file.
    mutating func finish(file path: String) {
        guard let index = entries.firstIndex(where: { $0.file?.path == path }) else { return }
        waitingBytes -= entries[index].file?.byteCount ?? 0
        entries.remove(at: index)
    }

    /// Notes that the server has a playlist.
    mutating func finish(_ text: PublishedTexts.Text) { texts.note(text) }

    /// Notes that the server was asked to delete files.
    mutating func finish(deletions paths: [String]) { deletions.removeAll { paths.contains($0) } }

    private mutating func leaveOut(at now: Double) {
        var excess = waitingBytes - limits.byteCount
        var late: [File] = []
        entries.removeAll { entry in
            guard let file = entry.file, !file.isNeeded, excess > 0 || now - file.arrival >= limits.age else {
                return false
            }
            excess -= file.byteCount
            late.append(file)
            return true
        }
        for file in late {
            waitingBytes -= file.byteCount
            addedBytes -= Int64(file.byteCount)
            missing.insert(file.path)
        }
        missingCount += late.count
    }
}
