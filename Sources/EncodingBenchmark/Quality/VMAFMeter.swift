// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// Measures the VMAF of pictures with an ffmpeg program. Used by one thread at a time.
package final class VMAFMeter {
    private var quality: ExternalQuality

    /// Starts the program.
    ///
    /// - Parameters:
    ///   - program: As ``program()`` returns it.
    ///   - width: Width in pixels.
    ///   - height: Height in pixels.
    ///   - bitDepth: 8 (I420) or 10 (P010).
    ///   - frameRate: Frames per second.
    package init(_ program: QualityProgram, width: Int, height: Int, bitDepth: Int, frameRate: Rational) {
        quality = ExternalQuality(
            .found(program.withoutXPSNR),
            .init(width: width, height: height, bitDepth: bitDepth, frameRate: frameRate)
        )
    }

    deinit { quality.abandon() }

    /// Searches for a program that measures VMAF; see ``QualityProgram/search(path:)``.
    ///
    /// - Throws: `unsupported` with the reason and what to install.
    package static func program() throws(MediaError) -> QualityProgram {
        let reason: String
        switch QualityProgram.usual {
        case .found(let program) where program.hasVMAF: return program
        case .found(let program): reason = ExternalQuality.lack("libvmaf", program)
        case .missing(let text): reason = text
        }
        throw MediaError(
            .unsupported,
            "VMAF cannot be measured: \(reason)",
            remedies: [
                "install an ffmpeg with the filter libvmaf, and name it: \(QualityProgram.variable)=/path/to/ffmpeg",
                "use a metric that needs no other program: ssim or psnr",
            ]
        )
    }

    /// Adds a pair of pictures, in presentation order.
    package func add(_ picture: PixelBuffer, reference: PixelBuffer) {
        quality.add(picture, reference: reference)
    }

    /// Returns the mean VMAF of all pictures.
    ///
    /// - Throws: `unsupported` with the reason if the program has failed.
    package func finish() throws(MediaError) -> Double {
        switch quality.finish().vmaf {
        case .value(let vmaf): return vmaf.mean
        case .absent(let reason): throw MediaError(.unsupported, "VMAF cannot be measured: \(reason)")
        }
    }
}
