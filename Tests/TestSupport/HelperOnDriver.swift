// SPDX-License-Identifier: GPL-2.0-or-later

internal import Foundation

/// A helper program of the product that has the reference driver behind a render node that is not there. The process of
/// the test has neither.
package final class HelperOnDriver: Sendable {
    /// The path of a program that starts it.
    package let path: String

    private let scratch: ScratchFolder

    /// - Parameters:
    ///   - program: Its name.
    ///   - faults: What happens in the driver.
    ///   - limits: What the driver can do.
    package init(
        _ program: String = "vatoolbox-decoding-helper",
        faults: String = "",
        limits: String = "decode=h264,hevc"
    ) throws {
        scratch = try ScratchFolder()
        path = scratch.path("helper")
        let drivers = try DriverRig.drivers()
        let settings = [
            "LD_PRELOAD": drivers + "/librender_node.so", "LIBVA_DRIVERS_PATH": drivers,
            "LIBVA_DRIVER_NAME": "libref", "RENDER_NODES": "128=generic", "REFERENCE_DRIVER_FAULTS": faults,
            "REFERENCE_DRIVER_LIMITS": limits, "TMPDIR": scratch.folder, "HOME": scratch.folder,
        ]
        // A name of its own: other tests stop and kill helpers of the product by their name.
        let renamed = scratch.path("on-driver")
        try FileManager.default.createSymbolicLink(atPath: renamed, withDestinationPath: try BuiltProgram.path(program))
        let exports = settings.map { "export \($0)='\($1)'\n" }.sorted().joined()
        let script = "#!/bin/sh\n\(exports)exec '\(renamed)' \"$@\"\n"
        try ProgramText.write(script, to: path)
    }
}
