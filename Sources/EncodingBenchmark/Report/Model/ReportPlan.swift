// SPDX-License-Identifier: GPL-2.0-or-later

extension BenchmarkReport {
    /// What was asked, with every default written out.
    package struct Plan: Codable, Sendable, Hashable {
        /// `quick`, `standard`, or the name of the plan's file.
        package var name: String
        /// ``Clip/id`` of each clip.
        package var clips: [String]
        /// Which encoder encodes at which points in which modes.
        package var series: [Series]
        /// How often each point is measured.
        package var repeats: Int
        /// How many runs of each point come before that and do not count.
        package var warmUps: Int
        /// Whether repeats of different encoders alternate, so that a change of the machine's speed meets all of them.
        package var isInterleaved: Bool
        /// What the order was drawn from; `nil` if it was not drawn.
        package var seed: UInt64?
        /// Which qualities were asked for: `psnr`, `ssim`, `vmaf`, `xpsnr`.
        package var qualities: [String]
        /// How streams were counted; `nil` if they were not.
        package var density: DensityPlan?
        /// What an hour of the machine costs; `nil` if that was not given.
        package var price: Price?
    }

    /// What one encoder has to do.
    package struct Series: Codable, Sendable, Hashable {
        /// ``Encoder/id``.
        package var encoder: String
        package var points: [RatePoint]
        package var modes: [Mode]
    }

    /// What an encoder is told about rate or quality.
    package struct RatePoint: Codable, Sendable, Hashable {
        /// How bits are spent.
        package enum Control: String, Codable, Sendable, Hashable, CaseIterable {
            /// Bits per second on average.
            case average
            /// Bits per second all the time.
            case constant
            /// Visible quality, 0...51, lower is better: CRF.
            case quality
            /// Quantizer, 0...51, lower is better.
            case quantizer
        }

        package var control: Control
        /// In bits per second, or on the scale of the control.
        package var value: Double
    }

    /// How pictures are handed over.
    package enum Mode: String, Codable, Sendable, Hashable, CaseIterable {
        /// As fast as the encoder takes them.
        case throughput
        /// Each at the time when a camera would deliver it.
        case realTime = "real-time"
        /// As ``realTime``, with settings that let no picture wait for another.
        case lowLatency = "low-latency"
    }

    /// How many streams fit is searched for in this way.
    package struct DensityPlan: Codable, Sendable, Hashable {
        /// The share of the target frame rate that every stream must keep: 0.98.
        package var requiredShare: Double
        /// The longest that the slowest of a hundred frames may take from in to out, in seconds.
        package var latencyBound: Double
        /// How long each trial lasts, in seconds.
        package var trialDuration: Double
        /// The most streams that are tried.
        package var maximumStreams: Int
    }

    /// What an hour of the machine costs.
    package struct Price: Codable, Sendable, Hashable {
        package var perHour: Double
        /// As it was given: `EUR`, `USD`.
        package var currency: String
    }
}
