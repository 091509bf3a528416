// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

/// The distribution's own drivers on render nodes that let them down: x264 finishes what they began, with every frame.
@Suite(.timeLimit(.minutes(60))) struct VendorFailureTests {
    /// What a driver is, what its node does, and what is said of it.
    struct Trouble: Sendable, CustomTestStringConvertible {
        var driver: String
        var chip: String
        var setting: String
        var said: [String]
        var testDescription: String { "\(driver), \(setting)" }
    }

    static let troubles = [
        // A submission that the kernel refuses ends the process: Mesa 22 calls exit, Mesa 25 abort.
        Trouble(
            driver: "radeonsi",
            chip: "polaris10",
            setting: "RENDER_NODES_REFUSE=EIO",
            said: ["exited with status 1|killed by SIGABRT", "The CS has been rejected", "failed frames in a row"]
        ),
        // Submissions that never complete: its wait has no end.
        Trouble(
            driver: "iHD",
            chip: "kbl",
            setting: "RENDER_NODES_HANG=1",
            said: ["did not", "in time", "2 missed deadlines"]
        ),
    ]

    /// What the test encode finds no session begins with.
    @Test(arguments: troubles)
    func aTestEncodeFindsIt(_ trouble: Trouble) throws {
        guard FakeGPU.isInstalled(trouble.driver) else { return }
        let ends = "did not|exited with status 1|killed by SIGABRT"
        try encode(trouble, isProved: true, ["a test encode failed at submit", ends])
    }

    /// What begins to fail after the test encode fails in the session.
    @Test(arguments: troubles)
    func theCPUFinishes(_ trouble: Trouble) throws {
        guard FakeGPU.isInstalled(trouble.driver) else { return }
        try encode(trouble, isProved: false, trouble.said)
    }

    private func encode(_ trouble: Trouble, isProved: Bool, _ said: [String]) throws {
        let scratch = try Scratch()
        try scratch.makeClip("clip.y4m", seconds: 1, size: "176x144")
        let result = try scratch.run(
            [
                "env", "-u", "LIBVA_DRIVER_NAME", "-u", "LIBVA_DRIVERS_PATH",
                FakeGPU.preload("\(try FakeGPU.folder())/librender_node.so"), "RENDER_NODES=128=\(trouble.chip)",
                trouble.setting, "VATOOLBOX_PROOF=\(isProved ? "on" : "off")", "TMPDIR=\(scratch.folder)",
                "HOME=\(scratch.folder)", "MESA_SHADER_CACHE_DISABLE=1",
                Scratch.vatoolbox, "encode", "clip.y4m", "-o", "out.mp4", "--codec", "h264", "--b-frames", "2",
                "--timeout", "4",
            ]
        )
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors.contains("encoder   x264 core"), "\(result.errors)")
        let why = result.errorLines.filter { $0.hasPrefix("why ") }.joined()
        for text in said {
            #expect(text.split(separator: "|").contains { why.contains($0) }, "\(text): \(result.errors)")
        }
        let takesOver = result.errors.contains("x264 takes over from vaapi-h264 on /dev/dri/renderD128")
        #expect(takesOver != isProved, "\(result.errors)")
        #expect(try scratch.decodedFrameCount("out.mp4") == 25)
        #expect(scratch.names.filter { $0.hasPrefix("out") } == ["out.mp4"])
    }
}
