// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import VAToolbox

/// What pictures say and the stream does not is reported.
@Suite struct LossTests {
    @Test func eachChangeToAColorThatTheStreamDoesNotHaveIsReportedOnce() throws {
        var machine = PictureMachine { $0.color = .bt709 }
        let colors: [ColorDescription] = [.bt709, .hdr10, .hdr10, .unspecified, .hdr10, .hlg, .bt709]
        for color in colors { machine.encode(.init(format: .nv12, width: 16, height: 16, color: color)) }
        let pq = "primaries 9, transfer 16"
        #expect(machine.adjustments.map(\.requested) == [pq, pq, "primaries 9, transfer 18"])
        #expect(machine.adjustments.allSatisfy { $0.property == "color" && $0.used == "primaries 1, transfer 1" })
    }

    @Test func attachmentsThatTheEncoderDoesNotTakeAreReportedOnce() throws {
        var picture = PixelBuffer.Description(format: .nv12, width: 16, height: 16)
        picture.attachments.captions = [0xfc, 0x80, 0x80]
        picture.attachments.regionsOfInterest = [.init(x: 0, y: 0, width: 8, height: 8, quantizerOffset: -4)]
        var machine = PictureMachine()
        for _ in 0..<3 { machine.encode(picture) }
        #expect(machine.adjustments.map(\.property) == ["captions", "regions of interest"])

        var able = PictureMachine(supporting: [.captions])
        for _ in 0..<3 { able.encode(picture) }
        #expect(able.adjustments.map(\.property) == ["regions of interest"])
    }
}
