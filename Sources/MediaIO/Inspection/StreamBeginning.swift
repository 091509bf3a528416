// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// What the first packets of a stream tell. Times are in ticks of the stream.
struct StreamBeginning {
    private(set) var packetCount = 0
    private(set) var keyFrameCount = 0
    /// The number of packets before the first key frame.
    private(set) var countBeforeKeyFrame = 0
    /// The number of packets that are decoded before the previous one.
    private(set) var stepsBack = 0
    /// The decode times of the first step back: before it, and after it.
    private(set) var firstStepBack: (from: Int64, to: Int64)?
    /// The number of packets that the container marks as incomplete.
    private(set) var incompleteCount = 0
    /// The longest distance of two key frames that were presented in this order.
    private(set) var longestKeyInterval: Int64?
    /// The first presentation time.
    private(set) var firstTime: Int64?

    private var lastDecodeTime: Int64?
    private var lastKeyTime: Int64?

    /// A packet; times are `nil` if they are not stated.
    struct Packet {
        var presentationTime: Int64?
        var decodeTime: Int64?
        var isKeyFrame: Bool
        var isIncomplete = false
    }

    mutating func add(_ packet: Packet) {
        packetCount += 1
        if packet.isIncomplete { incompleteCount += 1 }
        let time = packet.presentationTime ?? packet.decodeTime
        if firstTime == nil { firstTime = time }
        if packet.isKeyFrame {
            keyFrameCount += 1
            if let time, let last = lastKeyTime, time > last {
                longestKeyInterval = max(longestKeyInterval ?? 0, time &- last)
            }
            lastKeyTime = time
        } else if keyFrameCount == 0 {
            countBeforeKeyFrame += 1
        }
        if let decode = packet.decodeTime {
            if let last = lastDecodeTime, decode < last {
                stepsBack += 1
                if firstStepBack == nil { firstStepBack = (last, decode) }
            }
            lastDecodeTime = decode
        }
    }
}

/// The longest run of B-frames among pictures in presentation order.
struct BFrameRun {
    /// The longest run so far; `nil` before the first picture.
    private(set) var longest: Int?
    private var current = 0

    mutating func add(isBFrame: Bool) {
        current = isBFrame ? current + 1 : 0
        longest = max(longest ?? 0, current)
    }
}
