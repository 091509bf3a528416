// SPDX-License-Identifier: GPL-2.0-or-later

import VAAPI

enum Uploading {
    /// Writes into several surfaces, and compares what arrived.
    static func run() throws {
        do {
            let display = try Scenarios.display()
            let surfaces = try display.makeSurfaces(3, SurfaceRequest(width: 176, height: 112, format: .nv12))
            var state = UploadState()
            for (seed, surface) in surfaces.enumerated() {
                let pattern = Pattern(width: 176, height: 112, seed: seed)
                try surface.withWritablePlanes(&state) { pattern.draw($0.bytes, $0.planes) }
                say("way \(state.way.map(\.rawValue) ?? "-") copies \(state.way?.copies ?? 0)")
            }
            for (seed, surface) in surfaces.enumerated() {
                try expect(try surface.holds(seed: seed, display), "surface \(seed) holds something else")
            }
        }
        say("done")
    }

    /// Keeps the images of surfaces mapped while others are written to.
    static func keepMapped() throws {
        do {
            let display = try Scenarios.display()
            let surfaces = try display.makeSurfaces(2, SurfaceRequest(width: 176, height: 112, format: .nv12))
            let first = try surfaces[0].deriveImage().mapped()
            let second = try surfaces[1].deriveImage().mapped()
            Pattern(width: 176, height: 112, seed: 1).draw(first.bytes, first.image.planes)
            Pattern(width: 176, height: 112, seed: 2).draw(second.bytes, second.image.planes)
            try expect(try surfaces[0].holds(seed: 1, display), "the first surface holds something else")
            try expect(try surfaces[1].holds(seed: 2, display), "the second surface holds something else")
        }
        say("done")
    }
}

extension Surface {
    /// Whether the surface shows the pattern to the driver.
    func holds(seed: Int, _ display: borrowing Display) throws -> Bool {
        let image = try display.makeImage(format: .nv12, width: width, height: height)
        try get(into: image)
        let (pattern, planes) = (Pattern(width: width, height: height, seed: seed), image.planes)
        return try image.withMappedBytes { pattern.isHeld(by: $0, planes) }
    }
}
