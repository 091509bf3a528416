// SPDX-License-Identifier: GPL-2.0-or-later

/// The render nodes of this machine as this process sees them.
public struct RenderNodeSurvey: Sendable, Hashable {
    /// Every render node, ascending by number, usable or not.
    public let nodes: [RenderNode]
    /// Why ``nodes`` is empty; nil when it is not.
    public let absence: NodeRefusal?
    /// Who asked.
    public let process: ProcessIdentity

    /// Lists the nodes in `/dev/dri`, describes them from sysfs and opens and closes each once.
    ///
    /// Opening may wake a sleeping GPU. Nothing is submitted to it.
    ///
    /// - Parameter root: The folder that holds `dev`, `sys`, `etc` and `proc`; other than `/` in tests.
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

    /// Whether something could not be opened for want of descriptors: another survey may find more.
    public var lackedDescriptors: Bool {
        absence?.cause == .outOfDescriptors
            || nodes.contains { node in
                if case .refused(let refusal) = node.access { refusal.cause == .outOfDescriptors } else { false }
            }
    }

    /// The node of that name: its path, the link to it that udev makes (`/dev/dri/by-path/pci-0000:03:00.0-render`), or
    /// the address of its PCI function (`0000:03:00.0`). The latter two stay as they are when numbers of nodes change, and
    /// need no link: containers have none.
    public func node(named name: String) -> RenderNode? {
        nodes.first { node in
            guard let address = node.pci?.address else { return name == node.path }
            return [node.path, address, "/dev/dri/by-path/pci-\(address)-render"].contains(name)
        }
    }

    /// The number of a render node's name; nil for other names.
    static func minor(ofNode name: String) -> UInt32? {
        let prefix = "renderD"
        guard name.hasPrefix(prefix), name.utf8.dropFirst(prefix.utf8.count).allSatisfy({ $0 >= 0x30 && $0 <= 0x39 })
        else { return nil }
        return UInt32(name.dropFirst(prefix.count))
    }
}
