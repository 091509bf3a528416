// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import Synchronization

/// An encoder of the driver's (`VAContextID`). Its own end comes when no coded buffer of it is left.
///
/// Pictures may be submitted from any thread; those of several threads take turns.
public struct Context: ~Copyable, Sendable {
    let handle: ContextHandle

    /// Makes an encoder for a config (`vaCreateContext`).
    ///
    /// - Parameters:
    ///   - config: The config, which the context owns from now on, also when this throws.
    ///   - width: Samples in a row of the coded picture, before cropping.
    ///   - height: Rows of the coded picture.
    ///   - renderTargets: Surfaces that pictures will be reconstructed into; some drivers prepare them. The context keeps
    ///     them, for surfaces that it was told of must outlive it. A driver that is told of some may want all.
    /// - Throws: ``VAError`` if the driver refuses, for example because of the size.
    public init(
        config: consuming Config,
        width: Int,
        height: Int,
        renderTargets: [Surface] = []
    ) throws(VAError) {
        var targets = renderTargets.map(\.id)
        var id = VA_INVALID_ID
        try check(
            "vaCreateContext",
            vaCreateContext(
                config.connection.handle,
                config.id,
                Int32(clamping: width),
                Int32(clamping: height),
                VA_PROGRESSIVE,
                &targets,
                Int32(clamping: targets.count),
                &id
            )
        )
        handle = ContextHandle(id: id, config: config, renderTargets: renderTargets)
    }

    /// The number that libva knows the context by.
    public var id: UInt32 { handle.id }

    /// Makes a buffer that pictures of this context can be coded into.
    ///
    /// - Parameter capacity: Its size in bytes. What does not fit is lost, and drivers have been seen to write beyond
    ///   the end; so let it be larger than any picture.
    /// - Throws: ``VAError`` if the driver refuses.
    public func makeCodedBuffer(capacity: Int) throws(VAError) -> CodedBuffer {
        let id = try handle.createBuffer(VAEncCodedBufferType, size: capacity, count: 1, content: nil)
        return CodedBuffer(id: id, capacity: capacity, handle)
    }

    /// Submits a picture (`vaBeginPicture`, `vaRenderPicture`, `vaEndPicture`) and returns before it is coded.
    ///
    /// The parameters become buffers, which are destroyed when the driver has read them. If a call fails the picture is
    /// ended and waited for before this throws, so that the driver uses nothing any more; nothing is left behind. Let
    /// another context go on after that: Intel's driver, having refused parameters, fails with the next picture, too.
    ///
    /// - Parameters:
    ///   - input: The surface to encode. The coded buffer keeps it until the picture is coded. Surfaces that the
    ///     parameters name, for reconstruction and reference, are the caller's to keep.
    ///   - output: Where the picture is coded to; the buffer that the picture parameters name. Its last picture must
    ///     have been waited for.
    ///   - parameters: In the driver's order: sequence, picture, miscellaneous, headers, slices. Drivers crash when
    ///     sequence or picture parameters are missing where they count on them.
    /// - Throws: ``VAError`` naming the call that the driver refused.
    public func submit(
        _ input: Surface,
        into output: borrowing CodedBuffer,
        _ parameters: ParameterList
    ) throws(VAError) {
        var buffers: [VABufferID] = []
        buffers.reserveCapacity(parameters.entries.count)
        defer { for buffer in buffers { handle.destroyBuffer(buffer) } }
        for entry in parameters.entries {
            buffers.append(try handle.createBuffer(entry, in: parameters))
        }
        try handle.turns.withLock { (_) throws(VAError) in
            try handle.submit(input, into: output, &buffers)
        }
    }
}

/// What a context and its buffers share. The last of them ends it: drivers keep lists of a context's buffers.
final class ContextHandle: Sendable {
    let id: VAContextID
    let connection: DisplayConnection
    /// Held from `vaBeginPicture` to `vaEndPicture`: a context has one picture under way.
    let turns = Mutex(())

    /// Destroyed after the context, as are the surfaces.
    private let config: Config
    private let renderTargets: [Surface]

    fileprivate init(id: VAContextID, config: consuming Config, renderTargets: [Surface]) {
        self.id = id
        connection = config.connection
        self.config = config
        self.renderTargets = renderTargets
    }

    deinit {
        connection.report { () throws(VAError) in
            try check("vaDestroyContext", vaDestroyContext(connection.handle, id))
        }
    }

    fileprivate func createBuffer(
        _ type: VABufferType,
        size: Int,
        count: Int,
        content: UnsafeRawPointer?
    ) throws(VAError) -> VABufferID {
        var buffer = VA_INVALID_ID
        try check(
            "vaCreateBuffer",
            vaCreateBuffer(
                connection.handle,
                id,
                type,
                UInt32(clamping: size),
                UInt32(clamping: count),
                UnsafeMutableRawPointer(mutating: content),  // which is only read
                &buffer
            )
        )
        return buffer
    }

    fileprivate func createBuffer(
        _ entry: ParameterList.Entry,
        in list: ParameterList
    ) throws(VAError) -> VABufferID {
        let type = VABufferType(rawValue: entry.type.rawValue)
        let size = entry.range.count / entry.count
        return try withBytes(of: list.bytes, entry.range) { (content) throws(VAError) in
            try createBuffer(type, size: size, count: entry.count, content: content)
        }
    }

    /// Destroys a buffer that nothing uses any more.
    func destroyBuffer(_ buffer: VABufferID) {
        connection.report { () throws(VAError) in
            try check("vaDestroyBuffer", vaDestroyBuffer(connection.handle, buffer))
        }
    }

    /// The three calls, one of which may fail.
    fileprivate func submit(
        _ input: Surface,
        into output: borrowing CodedBuffer,
        _ buffers: inout [VABufferID]
    ) throws(VAError) {
        try check("vaBeginPicture", vaBeginPicture(connection.handle, id, input.id))
        // From here on the driver may use both of them.
        output.awaits(input)
        let count = Int32(buffers.count)
        do throws(VAError) {
            try check("vaRenderPicture", vaRenderPicture(connection.handle, id, &buffers, count))
        } catch {
            // The only way out of a picture. Whatever it says, what it was told before is the failure.
            connection.report { () throws(VAError) in
                try check("vaEndPicture", vaEndPicture(connection.handle, id))
            }
            output.settle()
            throw error
        }
        do throws(VAError) {
            try check("vaEndPicture", vaEndPicture(connection.handle, id))
        } catch {
            output.settle()
            throw error
        }
    }
}

/// Lends the bytes of a part of an array; with typed errors, which the standard library's functions do not pass on.
private func withBytes<Result>(
    of bytes: [UInt8],
    _ range: Range<Int>,
    _ body: (UnsafeRawPointer?) throws(VAError) -> Result
) throws(VAError) -> Result {
    let outcome = bytes.withUnsafeBytes { content in
        Swift.Result { () throws(VAError) in try body(content.baseAddress?.advanced(by: range.lowerBound)) }
    }
    return try outcome.get()
}
