// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import VAToolbox

/// What the article about HDR and ten bits shows.
func makeHDRSession() async throws -> CompressionSession {
    var configuration = EncoderConfiguration(width: 3840, height: 2160)
    configuration.codec = .hevc
    configuration.bitDepth = 10
    configuration.color = .hdr10
    configuration.masteringDisplay = MasteringDisplay(
        red: .init(x: 35400, y: 14600),
        green: .init(x: 8500, y: 39850),
        blue: .init(x: 6550, y: 2300),
        whitePoint: .init(x: 15635, y: 16450),
        maximumLuminance: 10_000_000,
        minimumLuminance: 50
    )
    configuration.contentLight = ContentLightLevel(
        maximumContentLightLevel: 1000,
        maximumFrameAverageLightLevel: 400
    )
    return try await CompressionSession(configuration: configuration)
}

/// A picture of a camera or a compositor, in memory of a device.
struct ExportedPicture {
    var descriptor: Int32
    var width: Int
    var height: Int
    var bytesPerRow: Int
    var giveBack: @Sendable () -> Void
}

/// What the article that comes from VideoToolbox shows of pictures without copies.
func wrap(_ picture: ExportedPicture) throws -> PixelBuffer {
    let luma = PlaneLayout(offset: 0, bytesPerRow: picture.bytesPerRow)
    let chroma = PlaneLayout(offset: picture.bytesPerRow * picture.height, bytesPerRow: picture.bytesPerRow)
    return try PixelBuffer(
        PixelBuffer.Description(format: .nv12, width: picture.width, height: picture.height, color: .bt709),
        dmaBuf: DMABuffer(
            fileDescriptors: [picture.descriptor],
            planes: [DMABuffer.Plane(object: 0, layout: luma), DMABuffer.Plane(object: 0, layout: chroma)],
            modifier: 0
        ),
        release: picture.giveBack
    )
}

/// What the article that comes from VideoToolbox shows of frames for a compositor.
func show(
    _ samples: [SampleBuffer],
    on display: (DMABuffer, PixelBuffer.Description) async throws -> Void
) async throws {
    guard let format = samples.first?.formatDescription else { return }
    var options = DecompressionOptions()
    options.devicePictureLimit = 8
    let session = try await DecompressionSession(formatDescription: format, options: options)
    let feeder = Task {
        for sample in samples { try await session.decode(sample) }
        try await session.finish()
    }
    for try await frame in session.frames {
        guard case .deviceSurface = frame.buffer.storage else { continue }
        let exported = try frame.buffer.exportDMABuf()
        if case .dmaBuf(let memory) = exported.storage { try await display(memory, exported.pictureDescription) }
        withExtendedLifetime(exported) {}
    }
    try await feeder.value
}
