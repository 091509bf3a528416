// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import MediaTypes

/// Gives all errors one type, for threads that have typed errors.
func mediaError<Value>(_ body: () throws -> Value) throws(MediaError) -> Value {
    do {
        return try body()
    } catch let error as MediaError {
        throw error
    } catch {
        throw MediaError(.inputOutput, "\(error)")
    }
}

extension AudioBuffer {
    /// The samples of an interleaved buffer of 16 bits or floating-point numbers.
    var floats: [Float] {
        withUnsafePlanes { planes in
            format.sampleType == .int16
                ? planes[0].bindMemory(to: Int16.self).map { Float($0) / 32768 }
                : Array(planes[0].bindMemory(to: Float.self))
        }
    }

    /// The first frame whose first channel is above a quarter of full scale.
    var firstLoudFrame: Int? {
        let channels = format.layout.channelCount
        return floats.firstIndex { abs($0) > 0.25 }.map { $0 / channels }
    }
}
