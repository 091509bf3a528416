// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

@testable import HelperIPC

extension EncoderClientMessage {
    /// A frame of 16x16, whose picture lies at the beginning of the memory of slot 0.
    static func smallFrame(_ number: Int64) -> EncoderClientMessage {
        let planes = [PlaneLayout(offset: 0, bytesPerRow: 16), PlaneLayout(offset: 256, bytesPerRow: 16)]
        return .frame(
            FrameOrder(
                number: number,
                picture: PixelBuffer.Description(format: .nv12, width: 16, height: 16),
                place: .memory(slot: 0, planes: planes),
                presentationTime: MediaTime(value: number, timescale: 30),
                duration: .invalid,
                options: .init()
            )
        )
    }
}
