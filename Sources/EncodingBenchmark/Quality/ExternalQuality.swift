// SPDX-License-Identifier: GPL-2.0-or-later

internal import FoundationEssentials
internal import Glibc
internal import MediaTypes

/// Measures VMAF and XPSNR with an ffmpeg program while pictures are decoded and compared.
///
/// It receives one stream of uncompressed pictures, each with the reference above the decoded picture, so it can
/// neither pair them differently nor convert one of them.
struct ExternalQuality {
    typealias Planes = BenchmarkReport.Planes
    typealias VMAF = BenchmarkReport.VMAF

    /// The VMAF model.
    static let model = "vmaf_v0.6.1"
    private static let vmafLog = "vmaf.json"

    private enum State {
        /// No measurement is made, for these reasons.
        case idle(vmaf: String, xpsnr: String)
        case running(ChildProgram, QualityProgram, folder: String)
    }

    private var state: State
    private let stack: PictureStack

    /// The size, bit depth and rate of the pictures.
    struct Pictures {
        var width: Int
        var height: Int
        var bitDepth: Int
        var frameRate: Rational
    }

    init(_ search: QualityProgram.Search, _ pictures: Pictures) {
        stack = PictureStack(bitDepth: pictures.bitDepth)
        switch search {
        case .missing(let reason): state = .idle(vmaf: reason, xpsnr: reason)
        case .found(let program): state = Self.start(program, pictures)
        }
    }

    private static func start(_ program: QualityProgram, _ pictures: Pictures) -> State {
        guard program.hasVMAF || program.hasXPSNR else {
            return .idle(vmaf: lack("libvmaf", program), xpsnr: lack("xpsnr", program))
        }
        do throws(MediaError) {
            let folder = try TemporaryFolder.make()
            do throws(MediaError) {
                return .running(try ChildProgram(words(program, pictures), folder: folder), program, folder: folder)
            } catch {
                TemporaryFolder.delete(folder)
                throw error
            }
        } catch {
            return .idle(vmaf: error.description, xpsnr: error.description)
        }
    }

    static func lack(_ filter: String, _ program: QualityProgram) -> String {
        "\(program.path) (ffmpeg \(program.version)) has no filter \(filter)"
    }

    /// Ends a measurement without a result.
    mutating func abandon() {
        guard case .running(_, _, let folder) = state else { return }
        state = .idle(vmaf: "it was abandoned", xpsnr: "it was abandoned")
        TemporaryFolder.delete(folder)
    }

    /// Adds a pair of pictures of that size and bit depth.
    mutating func add(_ picture: PixelBuffer, reference: PixelBuffer) {
        guard case .running(let child, _, let folder) = state else { return }
        do throws(MediaError) {
            try child.write(try stack.bytes(above: reference, below: picture))
        } catch {
            // Its output before its end is more informative than the write error.
            var reason = error.description
            do throws(MediaError) { _ = try child.finish() } catch { reason = error.description }
            TemporaryFolder.delete(folder)
            state = .idle(vmaf: reason, xpsnr: reason)
        }
    }

    /// Returns the results for all pictures.
    mutating func finish() -> (vmaf: Measured<VMAF>, xpsnr: Measured<Planes>) {
        switch state {
        case .idle(let vmaf, let xpsnr): return (.absent(vmaf), .absent(xpsnr))
        case .running(let child, let program, let folder):
            defer { TemporaryFolder.delete(folder) }
            state = .idle(vmaf: "it was asked twice", xpsnr: "it was asked twice")
            do throws(MediaError) {
                let output = try child.finish()
                return (
                    program.hasVMAF
                        ? Self.vmaf((try? BenchmarkFile.text(folder + "/" + Self.vmafLog)) ?? "")
                        : .absent(Self.lack("libvmaf", program)),
                    program.hasXPSNR ? Self.xpsnr(output) : .absent(Self.lack("xpsnr", program))
                )
            } catch {
                return (.absent(error.description), .absent(error.description))
            }
        }
    }

    private static func words(_ program: QualityProgram, _ pictures: Pictures) -> [String] {
        let (width, height) = (pictures.width, pictures.height)
        let threads = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        var graph = [
            "[0:v]split=2[above][below]",
            "[above]crop=\(width):\(height):0:0,split=2[r1][r2]",
            "[below]crop=\(width):\(height):0:\(height),split=2[d1][d2]",
        ]
        graph.append(
            program.hasVMAF
                ? "[d1][r1]libvmaf=model=version=\(model):log_fmt=json:log_path=\(vmafLog):n_threads=\(threads)[v]"
                : "[d1]nullsink;[r1]nullsink"
        )
        graph.append(program.hasXPSNR ? "[r2][d2]xpsnr[x]" : "[d2]nullsink;[r2]nullsink")
        var words = [
            program.path, "-hide_banner", "-nostats", "-loglevel", "info", "-f", "rawvideo",
            "-pixel_format", pictures.bitDepth > 8 ? "yuv420p10le" : "yuv420p",
            "-video_size", "\(width)x\(2 * height)", "-framerate", pictures.frameRate.description, "-i", "pipe:0",
            "-filter_complex", graph.joined(separator: ";"),
        ]
        if program.hasVMAF { words += ["-map", "[v]", "-f", "null", "-"] }
        if program.hasXPSNR { words += ["-map", "[x]", "-f", "null", "-"] }
        return words
    }

    // MARK: Parsing

    private struct Log: Decodable {
        struct Pooled: Decodable {
            var min: Double
            var mean: Double
            var harmonic_mean: Double
        }

        var pooled_metrics: [String: Pooled]
    }

    /// Parses the log of libvmaf.
    static func vmaf(_ log: String) -> Measured<VMAF> {
        guard let log = try? JSONDecoder().decode(Log.self, from: Data(log.utf8)),
            let pooled = log.pooled_metrics["vmaf"]
        else { return .absent("the log of libvmaf cannot be parsed") }
        return .value(
            VMAF(mean: pooled.mean, harmonicMean: pooled.harmonic_mean, minimum: pooled.min, model: Self.model)
        )
    }

    /// Parses the line `XPSNR  y: 26.8445  u: 28.0370  v: 27.5161  (minimum: 26.8445)`.
    static func xpsnr(_ output: String) -> Measured<Planes> {
        let line = output.split(separator: "\n").last { $0.contains("XPSNR") && $0.contains("y:") } ?? ""
        let words = line.split(separator: " ", omittingEmptySubsequences: true)
        func number(_ key: Substring) -> Double? {
            words.firstIndex(of: key).flatMap { $0 + 1 < words.count ? Double(words[$0 + 1]) : nil }
        }
        guard let y = number("y:"), let u = number("u:"), let v = number("v:") else {
            return .absent("the output of the filter xpsnr cannot be parsed")
        }
        guard y.isFinite, u.isFinite, v.isFinite else {
            return .absent("infinite, because a plane of the decoded pictures is identical to the source")
        }
        // As the mean squared error of all samples: luma has four of six.
        let error = (4 * pow(10, -y / 10) + pow(10, -u / 10) + pow(10, -v / 10)) / 6
        return .value(Planes(y: y, u: u, v: v, all: -10 * log10(error)))
    }
}
