// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import Glibc
internal import MediaTypes

/// A local file, a FIFO or standard input as an `AVIOContext`.
///
/// libavformat's own `file:` and `pipe:` protocols block in `open` and `read`, where no interrupt callback is called,
/// and cannot seek in a file on standard input. This one waits in `poll`, and seeks if the descriptor is seekable.
///
/// It is used by one thread at a time; other threads may only hold a reference, to keep the descriptor open.
final class InputFile: @unchecked Sendable {
    /// The timeout of one `poll` before the cancellation is checked again, in milliseconds.
    private static let pollInterval: Int32 = 100
    private static let bufferSize = 65536

    private let descriptor: Int32
    private let isOwned: Bool
    /// Whether a read never waits for another process.
    private let isRegular: Bool
    /// The start of the input in its file: the process that opened standard input may have read from it.
    private let start: Int64
    private let cancellation: Cancellation
    /// Whether nothing was read yet.
    private(set) var isEmpty = true
    private(set) var context: UnsafeMutablePointer<AVIOContext>?

    /// Opens a path, or standard input for `-`.
    init(path: String, cancellation: Cancellation) throws(MediaError) {
        self.cancellation = cancellation
        isOwned = path != "-"
        descriptor = isOwned ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : STDIN_FILENO
        guard descriptor >= 0 else { throw Self.openError(path, errno) }
        var status = stat()
        let kind = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : S_IFREG
        isRegular = kind == S_IFREG
        start = isOwned ? 0 : max(Int64(lseek(descriptor, 0, SEEK_CUR)), 0)
        if kind == S_IFDIR { throw Self.openError(path, EISDIR) }
        if isRegular, Int64(status.st_size) <= start { throw Self.emptyError(path) }
        context = try makeContext()
    }

    /// The descriptor of a file that can be read again at the same positions and is open for reading only; otherwise
    /// `nil`.
    var rereadableDescriptor: Int32? {
        isRegular && start == 0 && fcntl(descriptor, F_GETFL) & O_ACCMODE == O_RDONLY ? descriptor : nil
    }

    /// The present size of the file in bytes; 0 if not known.
    var size: Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    deinit {
        if let context { av_free(context.pointee.buffer) }
        avio_context_free(&context)
        if isOwned, descriptor >= 0 { close(descriptor) }
    }

    static func emptyError(_ path: String) -> MediaError {
        MediaError(.malformedData, "the input is empty", given: path)
    }

    private static func openError(_ path: String, _ code: Int32) -> MediaError {
        func error(_ kind: MediaError.Code, _ message: String, allowed: String) -> MediaError {
            MediaError(kind, message, given: path, allowed: allowed, call: "open", status: Int(code))
        }
        let file = "the path of a media file, or - for standard input"
        switch code {
        case ENOENT, ENOTDIR: return error(.unavailable, "the input does not exist", allowed: file)
        case EISDIR: return error(.invalidArgument, "the input is a directory", allowed: file)
        case EACCES, EPERM:
            return error(.unavailable, "no permission to read the input", allowed: "a file readable by this user")
        default:
            return error(.inputOutput, "the input cannot be opened: \(describe(ffmpeg_error(code)))", allowed: file)
        }
    }

    private func makeContext() throws(MediaError) -> UnsafeMutablePointer<AVIOContext> {
        let buffer = av_malloc(Self.bufferSize)
        let isSeekable = isRegular || lseek(descriptor, 0, SEEK_CUR) >= 0
        let context = avio_alloc_context(
            buffer?.assumingMemoryBound(to: UInt8.self),
            Int32(Self.bufferSize),
            0,
            Unmanaged.passUnretained(self).toOpaque(),
            { opaque, buffer, size in
                guard let opaque, let buffer else { return ffmpeg_error(EINVAL) }
                return Unmanaged<InputFile>.fromOpaque(opaque).takeUnretainedValue().read(into: buffer, size)
            },
            nil,
            isSeekable
                ? { opaque, offset, origin in
                    guard let opaque else { return Int64(ffmpeg_error(EINVAL)) }
                    return Unmanaged<InputFile>.fromOpaque(opaque).takeUnretainedValue().seek(to: offset, origin)
                } : nil
        )
        guard buffer != nil, let context else {
            av_free(buffer)
            throw MediaError(.outOfMemory, "no memory to read the input", call: "avio_alloc_context")
        }
        return context
    }

    private func read(into buffer: UnsafeMutablePointer<UInt8>, _ size: Int32) -> Int32 {
        while !cancellation.isCancelled {
            if !isRegular {
                var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                let ready = poll(&request, 1, Self.pollInterval)
                if ready < 0, errno != EINTR { return ffmpeg_error(errno) }
                if ready <= 0 { continue }
            }
            let count = Glibc.read(descriptor, buffer, Int(size))
            if count > 0 {
                isEmpty = false
                return Int32(truncatingIfNeeded: count)
            }
            if count == 0 { return ffmpeg_error_eof }
            if errno != EINTR, errno != EAGAIN { return ffmpeg_error(errno) }
        }
        return ffmpeg_error_exit
    }

    private func seek(to offset: Int64, _ origin: Int32) -> Int64 {
        if origin & AVSEEK_SIZE != 0 {
            var status = stat()
            return fstat(descriptor, &status) == 0 ? Int64(status.st_size) - start : Int64(ffmpeg_error(errno))
        }
        let origin = origin & ~AVSEEK_FORCE
        let (target, isBeyond) = offset.addingReportingOverflow(origin == SEEK_SET ? start : 0)
        let position = isBeyond ? -1 : lseek(descriptor, Int(target), origin)
        return position >= 0 ? Int64(position) - start : Int64(ffmpeg_error(isBeyond ? EINVAL : errno))
    }
}
