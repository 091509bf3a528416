// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLibVA
internal import Synchronization

/// An encoder context of the driver (`VAContextID`). It is destroyed when it and its last coded buffer are released.
///
/// Pictures may be submitted from any thread; submissions of several threads are serialized.
public struct Context: ~Copyable, Sendable {
    let handle: ContextHandle

    /// Creates a context for a config (`vaCreateContext`).
    ///
    /// - Parameters:
    ///   - config: The config. The context owns it from now on, even if this initializer throws.
    ///   - width: The width of the coded picture in samples, before cropping.
    ///   - height: The height of the coded picture in rows, before cropping.
    ///   - renderTargets: The surfaces into which pictures will be reconstructed; some drivers prepare them. The
    ///     context retains them, because they must outlive it. A driver that receives some of them may require all of
    ///     them.
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

    /// The libva ID of the context.
    public var id: UInt32 { handle.id }

    /// Creates a coded buffer for pictures of this context.
    ///
    /// - Parameter capacity: The size in bytes. Data that does not fit is lost, and some drivers write beyond the end,
    ///   so it should be larger than any picture.
    /// - Throws: ``VAError`` if the driver refuses.
    public func makeCodedBuffer(capacity: Int) throws(VAError) -> CodedBuffer {
        let id = try handle.createBuffer(VAEncCodedBufferType, size: capacity, count: 1, content: nil)
        return CodedBuffer(id: id, capacity: capacity, handle)
    }

    /// Submits a picture (`vaBeginPicture`, `vaRenderPicture`, `vaEndPicture`) and returns before it is coded.
    ///
    /// The parameters become buffers, which are destroyed when the driver has read them. If a call fails, the picture
    /// is ended and awaited before this method throws, so that the driver no longer uses anything and nothing is
    /// leaked. Continue with another context after that: after refusing parameters, Intel's driver also fails with the
    /// next picture.
    ///
    /// - Parameters:
    ///   - input: The surface to encode. The coded buffer retains it until the picture is coded. The caller must retain
    ///     the surfaces in the parameters, for reconstruction and reference.
    ///   - output: The coded buffer, which the picture parameters also name. Its previous picture must have been
    ///     awaited.
    ///   - parameters: The parameters in the driver's order: sequence, picture, miscellaneous, headers, slices. Some
    ///     drivers crash if required sequence or picture parameters are missing.
    /// - Throws: ``VAError`` with the call that the driver refused.
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

/// The shared handle of a context and its buffers. The last of them destroys it, because drivers keep lists of a
/// context's buffers.
final class ContextHandle: Sendable {
    let id: VAContextID
    let connection: DisplayConnection
    /// Locked from `vaBeginPicture` to `vaEndPicture`: a context processes one picture at a time.
    let turns = Mutex(())

    /// Destroyed after the context, like the surfaces.
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

    /// Destroys a buffer that is no longer in use.
    func destroyBuffer(_ buffer: VABufferID) {
        connection.report { () throws(VAError) in
            try check("vaDestroyBuffer", vaDestroyBuffer(connection.handle, buffer))
        }
    }

    /// Makes the three calls, any of which may fail.
    fileprivate func submit(
        _ input: Surface,
        into output: borrowing CodedBuffer,
        _ buffers: inout [VABufferID]
    ) throws(VAError) {
        try check("vaBeginPicture", vaBeginPicture(connection.handle, id, input.id))
        // From here on, the driver may use both of them.
        output.awaits(input)
        let count = Int32(buffers.count)
        do throws(VAError) {
            try check("vaRenderPicture", vaRenderPicture(connection.handle, id, &buffers, count))
        } catch {
            // A picture must be ended. Its result is ignored, because an earlier call has failed.
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

/// Calls a closure with the bytes of a part of an array. Unlike the standard library's functions, it forwards typed
/// errors.
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
