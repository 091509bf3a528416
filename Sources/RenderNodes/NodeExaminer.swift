// SPDX-License-Identifier: GPL-2.0-or-later

/// Examines individual nodes. Data of the system and the process is read once.
struct NodeExaminer {
    let root: String
    let system: SystemCalls
    let process: ProcessIdentity
    private let groups: GroupTable
    private let overflowGroup: UInt32

    init(root: String, system: SystemCalls) {
        self.root = root
        self.system = system
        func path(_ relative: String) -> String { Self.path(relative, below: root) }
        func text(_ relative: String) -> String { (try? system.text(path(relative))) ?? "" }
        func exists(_ relative: String) -> Bool { (try? system.status(path(relative))) != nil }

        groups = GroupTable(text("etc/group"))
        let overflow = text("proc/sys/kernel/overflowgid").prefix { $0 != "\n" }
        overflowGroup = UInt32(overflow) ?? 65534
        let user = system.effectiveUser()
        process = ProcessIdentity(
            user: user,
            userName: UserTable(text("etc/passwd")).names[user],
            groups: system.groups(),
            container: exists("run/.containerenv") ? .podman : exists(".dockerenv") ? .docker : nil
        )
    }

    /// Returns a path below the root.
    func path(_ relative: String) -> String { Self.path(relative, below: root) }

    /// The render nodes that sysfs lists, ascending.
    var kernelNodes: [String] {
        let names = (try? system.names(path("sys/class/drm"))) ?? []
        return names.compactMap(RenderNodeSurvey.minor).sorted().map { "renderD\($0)" }
    }

    /// Describes a node and tries to open it.
    func examine(minor: UInt32) -> RenderNode {
        let path = path("dev/dri/renderD\(minor)")
        var file: DeviceFile?
        var driver: String?
        var huC: HuCFirmware?
        let access: RenderNode.Access
        do throws(NodeRefusal) {
            let status = try status(of: path)
            file = status
            let node = try open(path, file: status)
            driver = node.kernelDriver
            huC = node.huC
            access = .accessible
        } catch {
            access = .refused(error)
        }
        let device = devicePath(minor: minor, file: file)
        let event = DeviceEvent((try? system.text("\(device)/uevent")) ?? "")
        return RenderNode(
            path: path,
            minor: minor,
            file: file,
            groupName: file.flatMap { groups.entries[$0.group]?.name },
            kernelDriver: driver ?? event.driver,
            pci: event.pci,
            huC: huC,
            access: access,
            firmware: firmware(device)
        )
    }

    /// Opens the node at a path.
    func open(_ path: String) throws(NodeRefusal) -> OpenRenderNode {
        try open(path, file: status(of: path))
    }

    private func open(_ path: String, file: DeviceFile) throws(NodeRefusal) -> OpenRenderNode {
        let judgement = AccessJudgement(
            path: path,
            file: file,
            groupEntry: groups.entries[file.group],
            process: process,
            overflowGroup: overflowGroup
        )
        if let refusal = judgement.refusalByKind { throw refusal }
        do throws(SystemError) {
            return OpenRenderNode(path: path, descriptor: try system.openDevice(path), system: system)
        } catch {
            throw judgement.refusal(after: error)
        }
    }

    private func status(of path: String) throws(NodeRefusal) -> DeviceFile {
        do throws(SystemError) {
            return try system.status(path)
        } catch {
            throw .unreachable(path: path, error: error, process: process)
        }
    }

    /// Returns the sysfs path by the device numbers, which are valid even if a container has renamed the node,
    /// otherwise by name.
    private func devicePath(minor: UInt32, file: DeviceFile?) -> String {
        let device =
            if case .characterDevice(let major, let minor)? = file?.kind { "dev/char/\(major):\(minor)" } else {
                "class/drm/renderD\(minor)"
            }
        return path("sys/\(device)/device")
    }

    /// The firmware versions of amdgpu, by the names of the video engines of its generations.
    private func firmware(_ device: String) -> String? {
        let versions = ["vcn", "vce", "uvd"].compactMap { engine -> String? in
            guard let text = try? system.text("\(device)/fw_version/\(engine)_fw_version") else { return nil }
            let version = text.prefix { !$0.isWhitespace }
            return version.isEmpty ? nil : "\(engine) \(version)"
        }
        return versions.isEmpty ? nil : versions.joined(separator: ", ")
    }

    private static func path(_ relative: String, below root: String) -> String {
        root.hasSuffix("/") ? root + relative : root + "/" + relative
    }
}
