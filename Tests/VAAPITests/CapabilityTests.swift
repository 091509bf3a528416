// SPDX-License-Identifier: GPL-2.0-or-later

import CLibVA
import Testing

@testable import VAAPI

@Suite struct EncodeCapabilityTests {
    private func capabilities(
        _ attributes: [(ConfigAttribute, UInt32)],
        surfaces: [(VASurfaceAttribType, Int32)] = []
    ) -> EncodeCapabilities {
        EncodeCapabilities(
            profile: Profile(rawValue: VAProfileH264High.rawValue),
            entrypoint: Entrypoint(rawValue: VAEntrypointEncSlice.rawValue),
            attributes: attributes.map { ConfigAttributeValue($0.0, $0.1) },
            surfaces: SurfaceCapabilities(
                attributes: surfaces.map { SurfaceAttributeValue(type: $0.0.rawValue, flags: 1, value: $0.1) }
            )
        )
    }

    /// What a driver that answers "not supported" to everything can do, and one that was asked nothing.
    @Test(arguments: [true, false])
    func aDriverThatSaysNothing(isAsked: Bool) {
        let attributes = isAsked ? ConfigAttribute.all.map { ($0, UInt32(VA_ATTRIB_NOT_SUPPORTED)) } : []
        let silent = capabilities(attributes)
        #expect(silent.renderTargetFormats.isEmpty && silent.rateControlModes.isEmpty)
        #expect(silent.exclusiveRateControlModes.isEmpty)
        #expect(silent.packedHeaders.isEmpty && silent.intraRefresh.isEmpty)
        #expect(silent.references == nil && silent.predictionDirections == nil)
        #expect(silent.maximumSlices == nil && silent.sliceStructures == nil)
        #expect(silent.qualityLevels == 1 && silent.dirtyRectangles == 0 && silent.parallelRateControlLayers == 0)
        #expect(silent.regionsOfInterest == nil && silent.frameSizeLimit == nil)
        #expect(silent.temporalLayers == TemporalLayerSupport(count: 1, hasRateForEach: false))
        #expect(!silent.hasTrellis && !silent.hasTiles && !silent.knowsOfDroppedFrames)
        #expect(silent.maximumWidth == nil && silent.minimumHeight == nil)
        #expect(silent.surfaces.memoryTypes == .driver && silent.surfaces.formats.isEmpty)
        #expect(silent[.packedHeaders] == nil)
        #expect(silent.attributes.count == attributes.count)
    }

    @Test func additionsToRateControlAreNoModes() {
        let bits = UInt32(VA_RC_NONE | VA_RC_CBR | VA_RC_CQP | VA_RC_MB | VA_RC_PARALLEL | VA_RC_TCBRC)
        let capabilities = capabilities([(.rateControl, bits)])
        #expect(capabilities.rateControlModes == [.cbr, .cqp, .perMacroblock, .parallel, .tcbrc])
        #expect(capabilities.exclusiveRateControlModes == [.cbr, .cqp, .tcbrc])
        #expect("\(capabilities.rateControlModes)" == "CBR CQP MB PARALLEL TCBRC")
    }

    @Test func noneIsNotNotSupported() {
        #expect(capabilities([(.packedHeaders, 0)])[.packedHeaders] == 0)
        #expect(capabilities([(.packedHeaders, 0)]).packedHeaders.isEmpty)
        #expect(
            capabilities([(.packedHeaders, 0x1F)]).packedHeaders == [
                .sequence, .picture, .slice, .miscellaneous, .rawData,
            ]
        )
        #expect(capabilities([(.maximumReferences, 0)]).references == ReferenceLimits(list0: 0, list1: 0))
    }

    @Test(arguments: [(0x0002_0004, 4, 2), (0x0000_0003, 3, 0), (1, 1, 0)] as [(UInt32, Int, Int)])
    func referencesAreTwoNumbers(value: UInt32, list0: Int, list1: Int) {
        #expect(capabilities([(.maximumReferences, value)]).references == ReferenceLimits(list0: list0, list1: list1))
    }

    @Test(arguments: [(0, 1), (1, 1), (7, 7), (32, 32)] as [(UInt32, Int)])
    func thereIsAlwaysOneQualityLevel(value: UInt32, levels: Int) {
        #expect(capabilities([(.qualityRange, value)]).qualityLevels == levels)
    }

    @Test func fieldsOfRegionsOfInterest() {
        #expect(capabilities([(.regionsOfInterest, 0)]).regionsOfInterest == nil)
        #expect(capabilities([(.regionsOfInterest, 0x300)]).regionsOfInterest == nil)
        let qp = capabilities([(.regionsOfInterest, 0x210)]).regionsOfInterest
        #expect(qp == RegionSupport(count: 16, takesPriorities: false, takesQPDifferences: true))
        let priority = capabilities([(.regionsOfInterest, 0x1FF)]).regionsOfInterest
        #expect(priority == RegionSupport(count: 255, takesPriorities: true, takesQPDifferences: false))
    }

    @Test func fieldsOfOtherAttributes() {
        #expect(capabilities([(.maximumFrameSize, 1)]).frameSizeLimit == FrameSizeLimit(hasMultiplePasses: false))
        #expect(capabilities([(.maximumFrameSize, 3)]).frameSizeLimit == FrameSizeLimit(hasMultiplePasses: true))
        #expect(capabilities([(.maximumFrameSize, 2)]).frameSizeLimit == nil)
        let layers = capabilities([(.rateControlExtension, 0x103)]).temporalLayers
        #expect(layers == TemporalLayerSupport(count: 4, hasRateForEach: true))
        #expect(capabilities([(.quantization, 1)]).hasTrellis)
        #expect(capabilities([(.predictionDirection, 5)]).predictionDirections == [.previous, .bothListsFilled])
        #expect(capabilities([(.intraRefresh, 0x10003)]).intraRefresh == [.rollingColumn, .rollingRow, .inPPictures])
        #expect(capabilities([(.sliceStructure, 0x14)]).sliceStructures == [.oneRow, .arbitraryRows])
        #expect(capabilities([(.maximumSlices, 0)]).maximumSlices == 1)
        #expect(capabilities([(.dirtyRectangles, 4)]).dirtyRectangles == 4)
        #expect(capabilities([(.renderTargetFormat, 0x101)]).renderTargetFormats == [.yuv420, .yuv420Bits10])
    }

    @Test func theSmallerOfTwoLimitsHolds() {
        let both = capabilities(
            [(.maximumWidth, 4096), (.maximumHeight, 4096)],
            surfaces: [
                (VASurfaceAttribMaxWidth, 8192), (VASurfaceAttribMaxHeight, 2304), (VASurfaceAttribMinWidth, 32),
            ]
        )
        #expect(both.maximumWidth == 4096 && both.maximumHeight == 2304 && both.minimumWidth == 32)
        #expect(capabilities([], surfaces: [(VASurfaceAttribMaxWidth, 1920)]).maximumWidth == 1920)
        #expect(capabilities([(.maximumWidth, 0)], surfaces: [(VASurfaceAttribMaxWidth, -1)]).maximumWidth == nil)
    }

    @Test func unknownBitsKeepTheirNumber() {
        #expect("\(RateControlModes(rawValue: 0x4000_0002))" == "CBR 0x40000000")
        #expect("\(PackedHeaders())" == "none")
        #expect("\(ConfigAttribute.maximumSlices)" == "EncMaxSlices")
        #expect("\(ConfigAttribute(rawValue: 4711))" == "attribute 4711")
        #expect("\(ConfigAttributeValue(.maximumSlices, 32))" == "EncMaxSlices=0x20")
        #expect("\(ConfigAttributeValue(.maximumSlices, VA_ATTRIB_NOT_SUPPORTED))" == "EncMaxSlices=-")
    }
}

@Suite struct SurfaceCapabilityTests {
    @Test func whatAConfigsSurfacesAre() {
        let settable = UInt32(VA_SURFACE_ATTRIB_SETTABLE)
        let surfaces = SurfaceCapabilities(attributes: [
            SurfaceAttributeValue(type: VASurfaceAttribPixelFormat.rawValue, flags: 3, value: VA_FOURCC_NV12),
            SurfaceAttributeValue(type: VASurfaceAttribPixelFormat.rawValue, flags: 3, value: VA_FOURCC_P010),
            SurfaceAttributeValue(type: VASurfaceAttribMemoryType.rawValue, flags: 3, value: 0x4000_0005),
            SurfaceAttributeValue(type: VASurfaceAttribUsageHint.rawValue, flags: 1, value: 2),
            SurfaceAttributeValue(type: VASurfaceAttribDRMFormatModifiers.rawValue, flags: settable, value: nil),
        ])
        #expect(surfaces.formats == [.nv12, .p010])
        #expect(surfaces.memoryTypes == [.driver, .userPointer, .prime2])
        #expect("\(surfaces.memoryTypes)" == "driver user-pointer prime-2")
        #expect(!surfaces.takesUsage && surfaces.takesModifiers)
    }

    @Test(
        arguments: [
            (FourCC.nv12, VA_FOURCC_NV12, "NV12"), (.p010, VA_FOURCC_P010, "P010"), (.i420, VA_FOURCC_I420, "I420"),
            (.yv12, VA_FOURCC_YV12, "YV12"), (.yuy2, VA_FOURCC_YUY2, "YUY2"), (.bgra, VA_FOURCC_BGRA, "BGRA"),
            (.r8, 0x2020_3852, "R8"), (.gr88, 0x3838_5247, "GR88"),
        ] as [(FourCC, Int32, String)]
    )
    func formatsHaveTheirLetters(format: FourCC, number: Int32, name: String) {
        #expect(format.rawValue == UInt32(number))
        #expect("\(format)" == name)
    }

    @Test func aFormatWithoutLetters() { #expect("\(FourCC(rawValue: 7))" == "0x7") }
}

@Suite struct ParameterListTests {
    @Test func parametersKeepOrderBytesAndCount() {
        var list = ParameterList()
        list.append(.pictureParameters, UInt64(0x0102_0304_0506_0708))
        list.append(.sliceParameters, elements: [UInt16(1), 2, 3])
        list.append(.packedHeaderData, bytes: [9, 8, 7])
        list.append(.packedHeaderData, bytes: [])
        list.append(.sliceParameters, elements: [UInt16]())
        #expect(list.types == [.pictureParameters, .sliceParameters, .packedHeaderData])
        #expect(list.entries.map(\.range) == [0..<8, 8..<14, 14..<17])
        #expect(list.entries.map(\.count) == [1, 3, 1])
        #expect(list.bytes == [8, 7, 6, 5, 4, 3, 2, 1, 1, 0, 2, 0, 3, 0, 9, 8, 7])
        list.removeAll()
        #expect(list.types.isEmpty && list.bytes.isEmpty)
    }

    /// As the header has it: the kind, then at once the structure, whatever its alignment.
    @Test func miscellaneousParametersFollowTheirKind() {
        var list = ParameterList()
        list.appendMiscellaneous(VAEncMiscParameterTypeROI.rawValue, UInt64.max)
        #expect(list.types == [.miscellaneousParameters])
        #expect(list.bytes.count == MemoryLayout<UInt32>.size + MemoryLayout<UInt64>.size)
        #expect(list.bytes.prefix(4) == [UInt8(VAEncMiscParameterTypeROI.rawValue), 0, 0, 0])
        #expect(list.bytes.dropFirst(4).allSatisfy { $0 == 0xFF })
    }

    @Test func keptArraysStayWhereTheyAre() throws {
        var list = ParameterList()
        let kept = list.keep([UInt32(1), 2, 3])
        let first = try #require(kept)
        for number in 0..<100 { _ = list.keep([UInt32(number)]) }
        let copy = list
        list.removeAll()
        withExtendedLifetime(copy) { #expect(Array(UnsafeBufferPointer(start: first, count: 3)) == [1, 2, 3]) }
        let empty = list.keep([UInt8]())
        #expect(empty == nil)
    }

    @Test func typesHaveTheNamesOfTheField() {
        #expect("\(BufferType.sequenceParameters)" == "EncSequenceParameter")
        #expect("\(BufferType(rawValue: 4711))" == "buffer type 4711")
    }
}

@Suite struct CodedSegmentTests {
    @Test func segmentsAreAListAndNeverLargerThanTheBuffer() throws {
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
        bytes.storeBytes(of: 0x0807_0605_0403_0201, as: UInt64.self)
        let segments = UnsafeMutablePointer<VACodedBufferSegment>.allocate(capacity: 3)
        defer {
            bytes.deallocate()
            segments.deallocate()
        }
        segments.initialize(repeating: VACodedBufferSegment(), count: 3)
        segments[0].size = 3
        segments[0].buf = bytes
        segments[0].next = UnsafeMutableRawPointer(segments + 1)
        segments[1].size = 4_000_000_000
        segments[1].status = 0x200
        segments[1].bit_offset = 5
        segments[1].buf = bytes
        segments[1].next = UnsafeMutableRawPointer(segments + 2)
        segments[2].size = 7
        let list = Array(CodedSegments(first: UnsafeMutableRawPointer(segments), capacity: 8))
        try #require(list.count == 3)
        #expect(list[0].size == 3 && Array(list[0].bytes) == [1, 2, 3])
        #expect(list[1].size == 4_000_000_000 && list[1].bytes.count == 8)
        #expect(list[1].status == 0x200 && list[1].bitOffset == 5)
        #expect(list[2].size == 7 && list[2].bytes.isEmpty)
        // A list that leads back to itself ends.
        segments[2].next = UnsafeMutableRawPointer(segments)
        #expect(
            CodedSegments(first: UnsafeMutableRawPointer(segments), capacity: 8).reduce(0) { sum, _ in sum + 1 } > 3
        )
    }
}
