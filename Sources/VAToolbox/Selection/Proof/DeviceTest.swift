// SPDX-License-Identifier: GPL-2.0-or-later

import HelperIPC
import MediaTypes

/// A short test that a device has to pass before a session uses it.
protocol DeviceTest: Sendable {
    /// The properties of the request that decide whether the device can fulfil it. One test proves the whole class.
    var subject: String { get }

    /// Runs the test where it cannot harm this process. Blocks.
    func run() -> DeviceTestResult
}

/// The result of a test.
struct DeviceTestResult: Sendable {
    /// How a test ends.
    enum Ending: Sendable {
        /// All stages passed. Without a decoder for the output of an encoder, pictures were not compared.
        case passed(isDecoded: Bool)
        /// A stage failed; the stages before it passed.
        case failed(stage: String, MediaError)
        /// The request was refused before anything was created.
        case refused(MediaError)
    }

    /// How the test ended.
    var ending: Ending
    /// The driver's name; empty if the test ended before it was known.
    var driver: String
}

extension HelperPool {
    /// Returns a pool for tests with the same program and log. Tests have their own helpers, because a helper in which an
    /// encoder or decoder has failed may affect others.
    func forTests(_ program: HelperProgram) throws(MediaError) -> HelperPool {
        var own = HelperPool.Options(program)
        own.path = options.path
        own.log = options.log
        return try HelperPool(own)
    }
}
