// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import RenderNodes
import SoftwareEncoder
import VAAPI

/// What this machine has to encode with.
struct ProbeReport {
    /// The render nodes, ascending by number.
    var nodes: [Node]
    /// Why there is no render node; `nil` if there is one.
    var absence: NodeRefusal?
    /// The software encoders of this build.
    var software: [SoftwareEncoder]
    /// The version of FFmpeg's libraries.
    var ffmpegVersion: String

    /// A render node, and the driver behind it.
    struct Node {
        var node: RenderNode
        var driver: Driver
    }

    /// How far one comes with a node.
    enum Driver {
        /// The node itself is out of reach.
        case outOfReach(NodeRefusal)
        /// libva found or initialized no driver.
        case failed(explanation: String, remedies: [String])
        /// The driver answers.
        case answers(DriverDescription)
    }

    /// An encoder that runs on the CPU.
    struct SoftwareEncoder {
        var codec: String
        var name: String
        var bitDepths: [Int]
    }

    /// Looks at the machine. Loads the VA-API drivers of the nodes that open; encodes nothing.
    static func ofThisMachine() -> ProbeReport {
        let survey = RenderNodeSurvey()
        return ProbeReport(
            nodes: survey.nodes.map { Node(node: $0, driver: driver(of: $0)) },
            absence: survey.absence,
            software: [
                SoftwareEncoder(
                    codec: "H.264",
                    name: X264EncoderFactory.libraryName,
                    bitDepths: X264EncoderFactory.bitDepths
                )
            ],
            ffmpegVersion: MediaLibraries.version
        )
    }

    private static func driver(of node: RenderNode) -> Driver {
        if case .refused(let refusal) = node.access { return .outOfReach(refusal) }
        do throws(DisplayError) {
            let display = try Display(path: node.path)
            do throws(VAError) {
                return .answers(try display.describe())
            } catch {
                return .failed(explanation: "\(error)", remedies: [])
            }
        } catch {
            let remedies = node.kernelDriver.map { DriverSearch(kernelDriver: $0).remedies } ?? []
            return .failed(explanation: "\(error)", remedies: remedies)
        }
    }
}

extension DriverDescription {
    /// What the driver lists for encoding: profiles that have the same entrypoints together, in the driver's order.
    var encoding: [(profiles: [Profile], entrypoints: [Entrypoint])] {
        var groups: [(profiles: [Profile], entrypoints: [Entrypoint])] = []
        for description in profiles {
            let entrypoints = description.entrypoints.filter(\.encodes)
            if entrypoints.isEmpty { continue }
            if let index = groups.firstIndex(where: { $0.entrypoints == entrypoints }) {
                groups[index].profiles.append(description.profile)
            } else {
                groups.append(([description.profile], entrypoints))
            }
        }
        return groups
    }
}

extension Entrypoint {
    /// Whether it encodes; their names in `va.h` begin alike.
    fileprivate var encodes: Bool { description.hasPrefix("Enc") }
}

extension RenderNode {
    /// Owner and mode, such as `group render (gid 104), mode 0660`.
    var permissionText: String? {
        guard let file else { return nil }
        let group = groupName.map { "group \($0) (gid \(file.group))" } ?? "gid \(file.group)"
        return "\(group), mode 0\(String(file.permissions, radix: 8))"
    }
}

extension PCIFunction {
    /// Vendor and device as `lspci -n` writes them: `8086:9a49`.
    var identifier: String {
        func hexadecimal(_ value: UInt16) -> String {
            let digits = String(value, radix: 16)
            return String(repeating: "0", count: 4 - digits.count) + digits
        }
        return "\(hexadecimal(vendorID)):\(hexadecimal(deviceID))"
    }
}
