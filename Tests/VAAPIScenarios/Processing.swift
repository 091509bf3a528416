// SPDX-License-Identifier: GPL-2.0-or-later

import VAAPI

/// Uses the driver's processing unit.
enum Processing {
    /// Says what the unit lists, and what it makes of a red picture.
    static func run() throws {
        do {
            let display = try Scenarios.display()
            guard try display.describe().processesPictures else { return say("no processing unit") }
            let capabilities = try display.makeProcessor(width: 64, height: 64).capabilities
            say("reads bgrx \(capabilities.reads(.bgrx)), writes nv12 \(capabilities.writes(.nv12))")
            say("bt709 \(capabilities.knows(.bt709)), bt2020 \(capabilities.knows(.bt2020))")
            let luma = try convert(display)
            say("luma \(luma.map { "\($0)" }.joined(separator: " "))")
        }
        say("done")
    }

    /// Scales a red picture to a quarter, in the middle of black.
    ///
    /// - Returns: luma samples in the upper left corner and in the middle.
    static func convert(_ display: borrowing Display) throws(VAError) -> [UInt8] {
        let processor = try display.makeProcessor(width: 64, height: 64)
        let source = try display.makeSurfaces(
            1,
            SurfaceRequest(width: 64, height: 64, renderTargetFormat: .rgb32, format: .bgrx)
        )[0]
        let target = try display.makeSurfaces(1, SurfaceRequest(width: 64, height: 64, format: .nv12))[0]
        var upload = UploadState()
        try source.withWritablePlanes(&upload) { planes in
            for row in 0..<64 {
                for column in 0..<64 {
                    let offset = planes.planes[0].offset + row * planes.planes[0].pitch + 4 * column
                    planes.bytes.storeBytes(of: 0x00FF_0000, toByteOffset: offset, as: UInt32.self)
                }
            }
        }
        let standard = processor.capabilities.knows(.bt709) ? ColorStandard.bt709 : .none
        let order = ProcessingOrder(
            source: SurfaceRegion(x: 0, y: 0, width: 64, height: 64),
            target: SurfaceRegion(x: 16, y: 16, width: 32, height: 32),
            sourceColor: ProcessingColor(.none, isFullRange: true),
            targetColor: ProcessingColor(standard, isFullRange: false)
        )
        try processor.process(source, into: target, order)
        _ = try target.wait()
        return try target.withReadablePlanes { planes in
            let (offset, pitch) = (planes.planes[0].offset, planes.planes[0].pitch)
            return [planes.bytes[offset], planes.bytes[offset + 32 * pitch + 32]]
        }
    }
}
