// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension BenchmarkReport.Environment {
    /// The machine that this runs on.
    static func ofThisMachine(nodes: [String]) -> BenchmarkReport.Environment {
        var components = InstalledSoftware.components
        if case .found(let program) = QualityProgram.usual { components += [program.component].compactMap(\.self) }
        return MachineSurvey().environment(nodes: nodes, components: components)
    }
}

extension BenchmarkReport.Quality {
    /// Compares a coded stream with its clip.
    init(ofStream path: String, codedFrames: [Bool], _ clip: PreparedClip) {
        do throws(MediaError) {
            self = try StreamQuality(clip: clip, codedFrames: codedFrames, program: QualityProgram.usual).measure(path)
        } catch {
            self = .absent(error.description)
        }
    }
}
