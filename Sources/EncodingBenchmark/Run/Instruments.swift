// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension BenchmarkReport.Environment {
    /// Returns the environment of this machine.
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
