// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes
internal import VAAPI

extension DeviceSettlement {
    /// The options of a configuration that the encoder supports with this driver.
    func supportedProperties(_ device: DeviceSetup) -> Set<EncoderOption> {
        var options: Set<EncoderOption> = [
            .forceKeyFrame, .entropyMode, .lowLatency, .hardwareOptions, .accessUnitDelimiters, .captions, .hdrMetadata,
        ]
        func add(_ option: EncoderOption, if condition: Bool) { if condition { options.insert(option) } }
        let modes = rateControlModes
        add(.averageBitRate, if: modes.contains(.vbr))
        add(.peakBitRate, if: modes.contains(.vbr) || modes.contains(.qvbr))
        add(.constantBitRate, if: modes.contains(.cbr))
        add(.constantQuality, if: modes.contains(.icq))
        add(.constantQuantizer, if: modes.contains(.cqp))
        add(.frameQuantizer, if: device.rate.mode == .cqp)
        add(.quantizerRange, if: device.rate.mode != .cqp)
        let isFollowed = !quirks.unchangeableModes.contains(device.rate.mode)
        add(.bitRateUpdate, if: device.rate.target != nil && !sendsTiming(device.rate) && isFollowed)
        add(.initialBufferFullness, if: device.rate.target?.bufferSize != nil)
        let hasBFrames = references.list0 > 0 && references.list1 > 0 && configuration.profile?.isBaseline != true
        add(.bFrames, if: hasBFrames)
        add(.bPyramid, if: hasBFrames && !packedHeaders.isEmpty && !quirks.refusesBFrameReferences)
        add(.openGOP, if: hasBFrames)
        add(.temporalLayers, if: references.list0 > 0 && !quirks.lacksTemporalLayers)
        add(.longTermReferences, if: references.list0 > 0 && !packedHeaders.isEmpty)
        add(.lossReports, if: references.list0 > 0)
        add(.slices, if: capabilities.maximumSlices ?? 1 > 1 && sliceStructures?.isEmpty == false)
        let rolling: IntraRefreshKinds = [.rollingColumn, .rollingRow]
        add(.intraRefresh, if: !capabilities.intraRefresh.isDisjoint(with: rolling))
        add(.maximumFrameSize, if: capabilities.frameSizeLimit != nil)
        add(.regionsOfInterest, if: device.regions.count > 0)
        add(.twelveBit, if: configuration.bitDepth == 12)
        add(.chroma422, if: configuration.chromaFormat == .yuv422)
        add(.chroma444, if: configuration.chromaFormat == .yuv444)
        return options
    }
}
