// SPDX-License-Identifier: GPL-2.0-or-later

/// The render nodes of this machine, as visible to this process.
public struct RenderNodeSurvey: Sendable, Hashable {
    /// All render nodes in the order of their numbers, whether usable or not.
    public let nodes: [RenderNode]
    /// The reason why ``nodes`` is empty; nil if it is not.
    public let absence: NodeRefusal?
    /// The identity of this process.
    public let process: ProcessIdentity

    /// Lists the nodes in `/dev/dri`, describes them with data from sysfs, and opens and closes each once.
    ///
    /// Opening may wake a sleeping GPU. Nothing is submitted to it.
    ///
    /// - Parameter root: The folder that contains `dev`, `sys`, `etc` and `proc`; other than `/` in tests.
    public init(root: String = "/") {
        self.init(examiner: NodeExaminer(root: root, system: SystemCalls()))
    }

    init(examiner: NodeExaminer) {
        process = examiner.process
        let folder = examiner.path("dev/dri")
        let absence = AbsenceJudgement(folder: folder, kernelNodes: examiner.kernelNodes, process: process)
        do throws(SystemError) {
            let names = try examiner.system.names(folder)
            nodes = names.compactMap(Self.minor).sorted().map { examiner.examine(minor: $0) }
            self.absence = nodes.isEmpty ? absence.refusal(names: names) : nil
        } catch {
            nodes = []
            self.absence = absence.refusal(after: error)
        }
    }

    /// Whether something could not be opened because no descriptor was left: another survey may find more.
    public var lackedDescriptors: Bool {
        absence?.cause == .outOfDescriptors
            || nodes.contains { node in
                if case .refused(let refusal) = node.access { refusal.cause == .outOfDescriptors } else { false }
            }
    }

    /// Returns the node with a name: its path, its udev link (`/dev/dri/by-path/pci-0000:03:00.0-render`), or the
    /// address of its PCI function (`0000:03:00.0`). The latter two stay valid when node numbers change, and they
    /// require no link, which containers lack.
    public func node(named name: String) -> RenderNode? {
        nodes.first { node in
            guard let address = node.pci?.address else { return name == node.path }
            return [node.path, address, "/dev/dri/by-path/pci-\(address)-render"].contains(name)
        }
    }

    /// Returns the number in the name of a render node; nil for other names.
    static func minor(ofNode name: String) -> UInt32? {
        let prefix = "renderD"
        guard name.hasPrefix(prefix), name.utf8.dropFirst(prefix.utf8.count).allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
        else { return nil }
        return UInt32(name.dropFirst(prefix.count))
    }
}
