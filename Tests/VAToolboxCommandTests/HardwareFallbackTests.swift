// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

/// A GPU whose driver does not do: what is said, and what encodes instead.
@Suite struct HardwareFallbackTests {
    /// A render node whose driver refuses to be initialized.
    private func environment() throws -> [String] {
        try Scratch.machine(["REFERENCE_DRIVER_FAULTS=vaInitialize:*=status:0x12"])
    }

    @Test(arguments: ["auto", "in-process", "process"])
    func theCPUTakesOver(isolation: String) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 0.2, size: "64x64")
        let command = [Scratch.vatoolbox, "encode", "clip.y4m", "-o", "out.h264", "--isolation", isolation]
        let result = try scratch.run(try environment() + command)
        #expect(result.status == 0, "\(result.errors)")
        // Tried once: what cannot change is not tried again.
        let failures = result.errorLines.filter {
            $0.contains("warning: vaapi-h264 on /dev/dri/renderD128 is not used: ")
        }
        #expect(failures.count == 1, "\(result.errors)")
        #expect(result.errors.contains("encoder   x264 core"))
        #expect(result.errors.contains("why       vaapi-h264 on /dev/dri/renderD128: "))
        #expect(result.errors.contains(", in a helper process") == (isolation == "process"))
        #expect(try scratch.decodedFrameCount("out.h264") == 5)
    }

    @Test func hardwareThatIsRequiredIsNotReplaced() throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 0.2, size: "64x64")
        let command = [Scratch.vatoolbox, "encode", "clip.y4m", "-o", "out.h264", "--require-hardware"]
        let result = try scratch.run(try environment() + command)
        #expect(result.status == 1 && result.errors.contains("vatoolbox: error: "), "\(result.errors)")
        #expect(scratch.names == ["clip.y4m"])
    }
}
