// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import Synchronization
import VAAPI

/// Makes every call of libva that the layer makes.
enum AllCalls {
    static func run() throws {
        do {
            let display = try Scenarios.display()
            try use(display)
        }
        say("done")
    }

    private static func use(_ display: borrowing Display) throws(VAError) {
        let description = try display.describe()
        guard let profile = description.profiles.first(where: { $0.entrypoints.contains(where: \.isEncoder) }),
            let entrypoint = profile.entrypoints.first(where: \.isEncoder)
        else { return }
        _ = try display.encodeCapabilities(profile: profile.profile, entrypoint: entrypoint)
        _ = try display.makeConfig(profile: profile.profile, entrypoint: entrypoint).attributes()

        let encoder = try SmallEncoder(display, width: 64, height: 48)
        try upload(encoder.input, display)
        try encoder.submit(0)
        _ = try encoder.output.wait()
        _ = try encoder.input.wait(atMost: .seconds(60))
        _ = try encoder.input.wait()
        _ = try encoder.input.status()
        _ = try encoder.collect()
        _ = try encoder.input.export(writable: false).layout
        // Under the shim the units of the vendors' drivers never come to an end.
        let isOurs = description.vendor.contains("reference driver")
        if isOurs, description.processesPictures { _ = try Processing.convert(display) }
    }

    private static func upload(_ surface: Surface, _ display: borrowing Display) throws(VAError) {
        var state = UploadState()
        let pattern = Pattern(width: surface.width, height: surface.height, seed: 1)
        _ = try surface.withWritablePlanes(&state) { pattern.draw($0.bytes, $0.planes) }
        let image = try display.makeImage(format: .nv12, width: surface.width, height: surface.height)
        try surface.get(into: image)
        try surface.put(image)
    }

    /// Lets each call fail, the first, the second and so on as often as it is made, and says for each what was seen:
    /// `CALL NUMBER STATUS: OUTCOME`.
    static func runWithEveryFault() throws {
        let calls = [
            "vaInitialize", "vaTerminate", "vaQueryConfigProfiles", "vaQueryConfigEntrypoints",
            "vaGetConfigAttributes", "vaCreateConfig", "vaDestroyConfig", "vaQueryConfigAttributes",
            "vaQuerySurfaceAttributes", "vaCreateSurfaces", "vaDestroySurfaces", "vaCreateContext", "vaDestroyContext",
            "vaCreateBuffer", "vaMapBuffer", "vaUnmapBuffer", "vaDestroyBuffer", "vaBeginPicture", "vaRenderPicture",
            "vaEndPicture", "vaSyncBuffer", "vaSyncSurface", "vaSyncSurface2", "vaQuerySurfaceStatus",
            "vaQueryImageFormats", "vaCreateImage", "vaDeriveImage", "vaDestroyImage", "vaGetImage", "vaPutImage",
            "vaExportSurfaceHandle", "vaQueryVideoProcPipelineCaps",
        ]
        for call in calls {
            var number = 1
            while let outcome = outcome(of: "\(call):\(number)=status:\(status)") {
                say("\(call) \(number): \(outcome)")
                number += 1
            }
            say("\(call) made \(number - 1)")
        }
    }

    /// No status that the layer takes for anything but a failure: VA_STATUS_ERROR_ENCODING_ERROR.
    private static let status = "0x18"

    /// What comes of all calls with a fault: an error, or what the message handler was told; nil if nothing came of it.
    private static func outcome(of fault: String) -> String? {
        setenv("REFERENCE_DRIVER_FAULTS", fault, 1)
        let messages = Messages()
        do {
            let display = try Display(
                path: Scenarios.node,
                onMessage: { if $0.severity == .error { messages.add($0.text) } }
            )
            try use(display)
        } catch {
            return (["error \(error)"] + messages.all.map { "message \($0)" }).joined(separator: " | ")
                .split(separator: "\n").joined(separator: " ")
        }
        return messages.all.isEmpty ? nil : messages.all.map { "message \($0)" }.joined(separator: " | ")
    }
}

/// What a display's handler was told.
final class Messages: Sendable {
    private let list = Mutex<[String]>([])

    func add(_ text: String) { list.withLock { $0.append(text) } }

    var all: [String] { list.withLock { $0 } }
}

extension Entrypoint {
    var isEncoder: Bool { description.hasPrefix("Enc") }
}
