// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import VAAPI

enum Sharing {
    private static let width = 128
    private static let height = 64

    /// `dma-buf [content]`: exports surfaces, writes to the memory, imports it again; with each kind of layers. With
    /// `content` the samples must be seen on every side, for which the driver's device has to do something.
    static func dmaBuf(_ arguments: [String]) throws {
        let display = try Scenarios.display()
        let request = SurfaceRequest(width: width, height: height, format: .nv12)
        let surface = try display.makeSurfaces(1, try linear(request, display))[0]
        let before = openDescriptors()
        let seesContent = arguments == ["content"]
        for separate in [false, true] {
            let imported: Surface
            do {
                let exported = try surface.export(writable: true, separateLayers: separate)
                let layout = exported.layout
                try expect(layout.width == width && layout.height == height && layout.format == .nv12, "\(layout)")
                let layers = layout.layers.map { "\($0.format) \($0.planes.count)" }.joined(separator: ", ")
                say("objects \(layout.objects.count) layers \(layers) modifier \(layout.objects[0].modifier)")
                try write(layout, seed: 3)
                let arrived = try surface.holds(seed: 3, display)
                try expect(arrived || !seesContent, "what was written is not in the surface")
                do throws(VAError) {
                    imported = try display.importSurface(layout)
                } catch {
                    say("not imported \(error)")
                    continue
                }
            }
            // The descriptors are closed.
            let shown = try imported.holds(seed: 3, display)
            try expect(shown || !seesContent, "the import shows something else")
            var state = UploadState()
            let pattern = Pattern(width: width, height: height, seed: 5)
            try imported.withWritablePlanes(&state) { pattern.draw($0.bytes, $0.planes) }
            let isOne = try surface.holds(seed: 5, display)
            try expect(isOne || !seesContent, "import and export are different memory")
        }
        // A driver may have opened some for itself meanwhile; the reference driver has not.
        try expect(openDescriptors() == before || !seesContent, "descriptors were left open")
        try refusals(display, try display.makeSurfaces(1, request)[0])
        say("done")
    }

    /// The request with the modifier of linear memory, where the driver takes such.
    private static func linear(_ request: SurfaceRequest, _ display: borrowing Display) throws -> SurfaceRequest {
        var request = request
        for profile in try display.describe().profiles {
            guard let entrypoint = profile.entrypoints.first(where: \.isEncoder) else { continue }
            let capabilities = try display.encodeCapabilities(profile: profile.profile, entrypoint: entrypoint)
            if capabilities.surfaces.takesModifiers { request.modifiers = [0] }
            break
        }
        return request
    }

    private static func refusals(_ display: borrowing Display, _ surface: Surface) throws {
        let exported = try surface.export(writable: true)
        var tiled = exported.layout
        // Of a vendor that is none.
        tiled.objects[0].modifier = 0x7F00_0000_0000_0002
        try refusal("modifier", display, tiled)
        var crowded = exported.layout
        crowded.layers = Array(repeating: crowded.layers[0], count: 5)
        try refusal("layers", display, crowded)
    }

    private static func refusal(_ what: String, _ display: borrowing Display, _ layout: DMABufLayout) throws {
        do throws(VAError) {
            _ = try display.importSurface(layout)
        } catch {
            say("refused \(what) \(error.call) 0x\(String(error.status.rawValue, radix: 16))")
            return
        }
        throw Wrong("a wrong \(what) was imported")
    }

    /// Writes the pattern to the exported memory, as somebody else would.
    private static func write(_ layout: DMABufLayout, seed: Int) throws {
        let object = layout.objects[0]
        let protection = PROT_READ | PROT_WRITE
        guard let map = mmap(nil, Int(object.size), protection, MAP_SHARED, object.descriptor, 0), map != MAP_FAILED
        else { throw Wrong("mmap: errno \(errno)") }
        defer { munmap(map, Int(object.size)) }
        let planes = layout.layers.flatMap(\.planes).map { ImagePlane(offset: Int($0.offset), pitch: Int($0.pitch)) }
        let bytes = UnsafeMutableRawBufferPointer(start: map, count: Int(object.size))
        Pattern(width: width, height: height, seed: seed).draw(bytes, planes)
    }

    /// Encodes nothing: shows that the driver reads and writes the process's memory, and that the memory lives as long as
    /// the surface.
    static func userPointer() throws {
        let display = try Scenarios.display()
        var state = UploadState()
        let pattern = Pattern(width: width, height: height, seed: 9)
        do {
            let surface: Surface
            let bytes: UnsafeMutableRawBufferPointer
            let planes = [ImagePlane(offset: 0, pitch: 192), ImagePlane(offset: 192 * height, pitch: 192)]
            do {
                let memory = PageMemory(byteCount: 192 * height * 3 / 2)
                bytes = memory.bytes
                surface = try display.importSurface(
                    UserMemory(format: .nv12, width: width, height: height, bytes: bytes, planes: planes),
                    owner: memory
                )
            }
            pattern.draw(bytes, planes)
            try expect(try surface.holds(seed: 9, display), "the surface does not show the memory")
            let other = Pattern(width: width, height: height, seed: 4)
            try surface.withWritablePlanes(&state) { other.draw($0.bytes, $0.planes) }
            try expect(other.isHeld(by: bytes, planes), "the memory does not show the surface")
            say("in use")
        }
        say("done")
    }
}

/// Whole pages, of which one says when they are given back.
final class PageMemory: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer

    init(byteCount: Int) {
        let page = 4096
        bytes = .allocate(byteCount: (byteCount + page - 1) / page * page, alignment: page)
    }

    deinit {
        bytes.deallocate()
        say("memory given back")
    }
}
