// SPDX-License-Identifier: GPL-2.0-or-later

internal import CX265
internal import Synchronization

/// The functions of x265 for one bit depth. Each bit depth is a separate library with its own global state.
struct X265Library: @unchecked Sendable {
    var api: x265_api

    /// Loads the library for a bit depth; `nil` if x265 was not built for it, or if its structures differ from those of
    /// the header.
    init?(bitDepth: Int) {
        guard let known = Self.known[bitDepth] else { return nil }
        self = known
    }

    /// The libraries of all bit depths, looked up once: `x265_api_get` has a counter without synchronization, which
    /// concurrent calls would corrupt, if each bit depth is a separate library file.
    private static let known = Dictionary(
        uniqueKeysWithValues: [8, 10, 12].compactMap { depth in X265Library(loading: depth).map { (depth, $0) } }
    )

    private init?(loading bitDepth: Int) {
        guard let found = x265_shim_api_get(Int32(clamping: bitDepth)) else { return nil }
        let sizes = (found.pointee.sizeof_param, found.pointee.sizeof_picture)
        let expected = (MemoryLayout<x265_param>.size, MemoryLayout<x265_picture>.size)
        guard Int(found.pointee.bit_depth) == bitDepth, Int(sizes.0) == expected.0, Int(sizes.1) == expected.1 else {
            return nil
        }
        api = found.pointee
    }

    /// The version without the commit, for example `3.5`.
    var version: String { String(String(cString: api.version_str).prefix { $0 != "+" && $0 != "-" }) }

    /// Calls `x265_param_parse`.
    ///
    /// - Returns: 0, or x265's `X265_PARAM_BAD_NAME` or `X265_PARAM_BAD_VALUE`.
    func parse(_ parameters: inout x265_param, _ name: String, _ value: String) -> Int32 {
        api.param_parse(&parameters, name, value)
    }

    /// Opens an encoder, one at a time in the process: the first one fills the table of functions for the processor's
    /// instructions, which all others use, and x265 does not prevent others from reading it meanwhile.
    ///
    /// - Returns: `nil` if x265 rejects the parameters.
    func open(_ parameters: inout x265_param) -> OpenEncoder? {
        Self.instructions.withLock { instructions in
            guard let encoder = api.encoder_open(&parameters) else { return nil }
            let used = instructions[api.bit_depth] ?? parameters.cpuid
            instructions[api.bit_depth] = used
            return OpenEncoder(encoder: encoder, instructions: used)
        }
    }

    /// The instructions of the first encoder of the process, by bit depth.
    private static let instructions = Mutex<[Int32: Int32]>([:])
}

/// An open encoder, for transfer to its owner.
struct OpenEncoder: @unchecked Sendable {
    let encoder: OpaquePointer
    /// The processor's instructions that it uses, as in `x265_param.cpuid`.
    let instructions: Int32
}
