// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes
package import VAToolbox

extension [ArgumentText<DeviceChoice>] {
    /// Returns the devices that `--device` allows, given once or several times.
    ///
    /// - Parameter requirement: The option that excludes the CPU, as on the command line; `nil` if none was given.
    /// - Throws: `invalidArgument` for an invalid value or a contradiction.
    package func policy(requiringHardware requirement: String?) throws(MediaError) -> DevicePolicy {
        var nodes: [String] = []
        for choice in self {
            switch try choice.value(of: "--device") {
            case .renderNode(let path): nodes.append(path)
            case .automatic where count == 1: return requirement == nil ? .preferHardware : .requireHardware
            case .software where count == 1:
                if let requirement { throw contradiction("--device software", requirement) }
                return .requireSoftware
            case .automatic, .software:
                let other = first { $0.text != choice.text } ?? choice
                throw contradiction(
                    "--device \(choice.text)",
                    "--device \(other.text)",
                    allowed: "one of them, or several render nodes"
                )
            }
        }
        if nodes.isEmpty { return requirement == nil ? .preferHardware : .requireHardware }
        return .devices(nodes, software: requirement == nil)
    }
}
