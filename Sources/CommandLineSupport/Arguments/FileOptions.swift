// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaIO
package import MediaTypes

extension MediaSink.Options {
    /// The container that the options of a command line select.
    ///
    /// - Parameters:
    ///   - path: The output: a path, `-` or `null`.
    ///   - format: The name of the container; `nil` selects it by the extension.
    /// - Throws: `invalidArgument` if the container is not known, or contradicts the path.
    package init(path: String, format: String?, isFragmented: Bool, overwrite: Bool) throws(MediaError) {
        let container = try ContainerFormat(name: format, path: path)
        if let format, path == ContainerFormat.null.rawValue, container != .null {
            throw contradiction("-o \(path)", "--format \(format)", allowed: "-o ./\(path) for a file of that name")
        }
        self.init()
        self.format = container
        self.isFragmented = isFragmented
        self.overwrite = overwrite
    }
}

/// Returns the error for two options that exclude each other.
package func contradiction(_ one: String, _ other: String, allowed: String? = nil) -> MediaError {
    MediaError(
        .invalidArgument,
        "two options contradict each other",
        given: "\(one) and \(other)",
        allowed: allowed ?? "one of them"
    )
}
