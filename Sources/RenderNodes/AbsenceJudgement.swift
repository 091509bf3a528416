// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// Determines why there is no render node at all. A pure value, like ``AccessJudgement``.
struct AbsenceJudgement {
    /// The folder that should hold the nodes.
    let folder: String
    /// The render nodes of the kernel according to sysfs, which containers share with their host.
    let kernelNodes: [String]
    /// The identity of this process.
    let process: ProcessIdentity

    /// Returns the refusal if the folder could not be listed.
    func refusal(after error: SystemError) -> NodeRefusal {
        switch error.code {
        case ENOENT:
            refusal(.noDeviceFolder, code: ENOENT, found: "There is no \(folder)")
        case EACCES: .closedFolder(onTheWayTo: folder, process: process)
        case EMFILE, ENFILE: .outOfDescriptors(path: folder, error: error)
        default: .failed(path: folder, error: error)
        }
    }

    /// Returns the refusal if the folder was listed and contains no render node.
    func refusal(names: [String]) -> NodeRefusal {
        let others = names.isEmpty ? "is empty" : "holds no render node, only \(names.sorted().joined(separator: ", "))"
        let cause = names.contains { $0.hasPrefix("card") } ? NodeRefusal.Cause.displayNodeOnly : .noRenderNode
        return refusal(cause, code: nil, found: "\(folder) \(others)")
    }

    private func refusal(_ cause: NodeRefusal.Cause, code: Int32?, found: String) -> NodeRefusal {
        let explanation: String
        let remedies: [String]
        if !kernelNodes.isEmpty {
            let nodes = kernelNodes.joined(separator: ", ")
            explanation = "\(found), although the kernel has \(nodes): this container was not given the GPU."
            remedies = process.passingTheDevice
        } else if cause == .displayNodeOnly {
            explanation =
                "\(found), and the kernel has no render node: the device is a display only, or its driver does not support "
                + "rendering. It cannot encode."
            remedies = [
                "find the device's kernel driver: lspci -nnk -d ::03xx",
                "in a virtual machine: pass a GPU through to it",
            ]
        } else {
            let place = process.container == nil ? "this machine" : "the container's host"
            explanation = "\(found), and the kernel has no render node: \(place) has no GPU, or no driver for it."
            remedies = [
                "check for a GPU and its kernel driver: lspci -nnk -d ::03xx",
                "in a virtual machine: pass a GPU through to it",
            ]
        }
        return NodeRefusal(cause: cause, path: folder, code: code, explanation: explanation, remedies: remedies)
    }
}
