// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// The loudness of audio, as EBU R128 describes it.
public struct Loudness: Sendable, Hashable {
    /// The loudness of the whole in LUFS (ITU-R BS.1770-4, with both gates); `nil` if nothing is above -70 LUFS.
    public var integrated: Double?
    /// The loudness range in LU (EBU Tech 3342); 0 if it is shorter than 3 seconds.
    public var range: Double
    /// The maximum loudness of 400 ms in LUFS; `nil` if nothing is above -70 LUFS.
    public var momentaryMaximum: Double?
    /// The maximum loudness of 3 s in LUFS; `nil` if nothing is above -70 LUFS.
    public var shortTermMaximum: Double?
    /// The true peak in dBTP (ITU-R BS.1770-4, annex 2); `nil` for digital silence.
    public var truePeak: Double?

    /// Makes the loudness of silence, or one of the given values.
    public init(integrated: Double? = nil, range: Double = 0, truePeak: Double? = nil) {
        self.integrated = integrated
        self.range = range
        self.truePeak = truePeak
    }

    /// The level of the absolute gate in LUFS.
    static let gate = -70.0
}

/// The loudness that a track gets by one constant gain.
public struct LoudnessTarget: Sendable, Hashable {
    /// The integrated loudness in LUFS, in ``allowedIntegrated``; EBU R128 has -23.
    public var integrated: Double
    /// The highest true peak in dBTP, in ``allowedTruePeak``. It limits the gain.
    public var truePeak: Double

    /// The possible loudness in LUFS.
    public static let allowedIntegrated = -70.0...0.0
    /// The possible limits of the true peak in dBTP.
    public static let allowedTruePeak = -20.0...0.0

    /// Makes a target; the defaults are those of EBU R128.
    public init(integrated: Double = -23, truePeak: Double = -1) {
        self.integrated = integrated
        self.truePeak = truePeak
    }

    /// Returns the gain in dB that a sound needs, and whether the limit of the true peak has reduced it; `nil` if the sound
    /// is silent, that is, nowhere above -70 LUFS.
    public func gain(for loudness: Loudness) -> (decibels: Double, isLimited: Bool)? {
        guard let measured = loudness.integrated, let peak = loudness.truePeak else { return nil }
        let (wanted, most) = (integrated - measured, truePeak - peak)
        return (min(wanted, most), most < wanted)
    }

    /// Checks the ranges.
    ///
    /// - Throws: `invalidArgument` if a value is out of range.
    package func validate() throws(MediaError) {
        try Self.allowedIntegrated.check(integrated, "loudness", unit: "LUFS")
        try Self.allowedTruePeak.check(truePeak, "limit of the true peak", unit: "dBTP")
    }
}
