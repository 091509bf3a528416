// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension BenchmarkReport.Environment {
    /// The machine that this runs on.
    static func ofThisMachine(nodes: [String]) -> BenchmarkReport.Environment {
        MachineSurvey().environment(nodes: nodes, components: InstalledSoftware.components)
    }
}

extension BenchmarkReport.Quality {
    /// Compares a coded stream with its clip.
    init(ofStream path: String, codedFrames: [Bool], _ clip: PreparedClip) {
        do throws(MediaError) {
            self = try StreamQuality(clip: clip, codedFrames: codedFrames, program: Self.program).measure(path)
        } catch {
            self = .absent(error.description)
        }
    }

    /// It is looked for once.
    private static let program = QualityProgram.search()
}
