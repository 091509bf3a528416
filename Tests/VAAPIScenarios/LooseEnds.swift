// SPDX-License-Identifier: GPL-2.0-or-later

import VAAPI

/// Lets go of things in orders that a driver would not forgive, some of them with a picture under way.
enum LooseEnds {
    static func run() throws {
        try displayFirst()
        try contextBeforeCodedBuffer()
        try surfacesBeforeContext()
        try pictureUnderWay()
        try derivedImageWithoutSurface()
        try closing()
        say("done")
    }

    private static let request = SurfaceRequest(width: 64, height: 64, format: .nv12)

    /// `refused-parameters first|last`: a picture with parameters that drivers may refuse, before or after those that they
    /// cannot do without; then a good one, by the same display.
    static func refusedParameters(_ arguments: [String]) throws {
        do {
            let display = try Scenarios.display()
            try submitRefused(display, first: arguments == ["first"])
            let encoder = try SmallEncoder(display, width: 64, height: 64)
            try encoder.submit(0)
            say("next \(try encoder.collect().count) bytes")
        }
        say("done")
    }

    private static func submitRefused(_ display: borrowing Display, first: Bool) throws {
        let encoder = try SmallEncoder(display, width: 64, height: 64)
        let (output, reconstruction) = (encoder.output.id, encoder.reconstructions[0].id)
        var list = ParameterList()
        if first { list.appendMiscellaneous(999, UInt64.max) }
        encoder.picture.append(to: &list, number: 0, output: output, reconstruction: reconstruction)
        if !first { list.appendMiscellaneous(999, UInt64.max) }
        do throws(VAError) {
            try encoder.context.submit(encoder.input, into: encoder.output, list)
            say("taken \(try encoder.collect().count) bytes")
        } catch {
            say("refused \(error)")
        }
    }

    private static func displayFirst() throws {
        let surfaces: [Surface]
        do {
            let display = try Scenarios.display()
            surfaces = try display.makeSurfaces(2, request)
        }
        try expect(try surfaces[1].wait(), "the display's end has reached its surfaces")
    }

    private static func contextBeforeCodedBuffer() throws {
        let output: CodedBuffer
        do {
            let encoder = try SmallEncoder(try Scenarios.display(), width: 64, height: 64)
            output = try encoder.context.makeCodedBuffer(capacity: 4096)
        }
        try expect(output.capacity == 4096, "capacity")
    }

    private static func surfacesBeforeContext() throws {
        let display = try Scenarios.display()
        let encoder = try Self.context(display)
        try expect(encoder.id != 0, "id")
    }

    /// The surfaces that the context was told of are let go of when this returns.
    private static func context(_ display: borrowing Display) throws -> Context {
        let surfaces = try display.makeSurfaces(3, SurfaceRequest(width: 128, height: 128, format: .nv12))
        for profile in try display.describe().profiles {
            guard let entrypoint = profile.entrypoints.first(where: \.isEncoder) else { continue }
            let config = try display.makeConfig(profile: profile.profile, entrypoint: entrypoint)
            return try Context(config: config, width: 128, height: 128, renderTargets: surfaces)
        }
        throw Wrong("no encoder")
    }

    private static func pictureUnderWay() throws {
        for number in 0..<3 {
            let encoder = try SmallEncoder(try Scenarios.display(), width: 320, height: 240)
            try encoder.submit(number)
        }
    }

    private static func derivedImageWithoutSurface() throws {
        let image: Image
        do {
            let display = try Scenarios.display()
            do throws(VAError) {
                image = try display.makeSurfaces(1, request)[0].deriveImage()
            } catch {
                image = try display.makeImage(format: .nv12, width: 64, height: 64)
            }
        }
        let size = try image.withMappedBytes { bytes in
            bytes[bytes.count - 1] = 1
            return bytes.count
        }
        try expect(size >= 64 * 64 * 3 / 2, "the image has \(size) bytes")
    }

    private static func closing() throws {
        let display = try Scenarios.display()
        let other = display.share()
        let surface = try other.makeSurfaces(1, request)
        try display.close()
        try other.close()
        try expect(try surface[0].wait(), "closing a display has reached its surface")
        try Scenarios.display().close()
    }
}
