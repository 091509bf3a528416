// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// Determines from a failed call, the node and the process why a node cannot be used.
///
/// A pure value that makes no system call.
struct AccessJudgement {
    /// The path of the node.
    let path: String
    /// The result of `stat`.
    let file: DeviceFile
    /// The entry in `/etc/group` of the group that owns the node, if there is one.
    let groupEntry: GroupTable.Entry?
    /// The identity of this process.
    let process: ProcessIdentity
    /// The group ID that represents groups which the user namespace does not map.
    let overflowGroup: UInt32

    /// Returns the refusal after a failed `open`.
    func refusal(after error: SystemError) -> NodeRefusal {
        switch error.code {
        case EACCES: permissionDenied
        case EPERM: deviceNotAllowed
        case ENOENT: .vanished(path: path)
        case ENXIO, ENODEV: noDriver(error)
        case EMFILE, ENFILE: .outOfDescriptors(path: path, error: error)
        default: .failed(path: path, error: error)
        }
    }

    /// The refusal of a file that is not a character device; nil if it is one.
    var refusalByKind: NodeRefusal? {
        let found: String
        switch file.kind {
        case .characterDevice: return nil
        case .directory: found = "a folder; Docker's -v creates one if the path does not exist on the host"
        case .regularFile: found = "a plain file"
        case .other: found = "neither a character device nor a plain file"
        }
        return NodeRefusal(
            cause: .notACharacterDevice,
            path: path,
            code: nil,
            explanation: "\(path) should be a character device but is \(found).",
            remedies: ["check whether the host has the node: ls -l /dev/dri"] + process.passingTheDevice
        )
    }
}

// MARK: - EACCES

extension AccessJudgement {
    private var permissionDenied: NodeRefusal {
        if file.group == overflowGroup { return unmappedGroup }
        if process.mayReadAndWrite(file) { return deniedDespitePermissions }
        let groupMayUseNode = file.permissions & 0o060 == 0o060 && file.group != 0
        guard groupMayUseNode, !process.groups.contains(file.group) else { return deniedByMode }
        return notInGroup
    }

    private var notInGroup: NodeRefusal {
        let isListedMember = process.userName.map { groupEntry?.members.contains($0) ?? false } ?? false
        let host =
            isListedMember
            ? "log in again, because the new group membership is not in effect yet: newgrp \(groupOrNumber)"
            : "join the group and log in again: sudo usermod -aG \(groupOrNumber) \(process.userName ?? "\"$USER\"")"
        let engine = process.engine
        let container = [
            "start the container with the group: \(engine) run --device /dev/dri --group-add \(file.group) ...",
            "or in compose.yaml: devices: [\"/dev/dri:/dev/dri\"] and group_add: [\"\(file.group)\"]",
        ]
        return denied(
            because: "it is open to \(groupText) only",
            remedies: process.container == nil ? [host] + container : container
        )
    }

    private var deniedByMode: NodeRefusal {
        denied(
            because: "its owner and mode deny access, whatever the group",
            remedies: [
                "give access to a group, on the host until the next reboot: sudo chgrp render \(path) && sudo chmod 0660 \(path)",
                "or permanently, by a udev rule: SUBSYSTEM==\"drm\", KERNEL==\"renderD*\", GROUP=\"render\", MODE=\"0660\"",
            ]
        )
    }

    private var deniedDespitePermissions: NodeRefusal {
        denied(
            because: "its mode allows access, so something else denies it: SELinux or AppArmor, a mount with nodev, or "
                + "the permissions of a parent folder",
            remedies: [
                "look at the kernel log on the host: sudo journalctl -k --grep 'apparmor|avc'",
                "with SELinux, let containers use devices: sudo setsebool -P container_use_devices 1",
                "check the mount for nodev: findmnt -T \(path)",
            ]
        )
    }

    private var unmappedGroup: NodeRefusal {
        NodeRefusal(
            cause: .unmappedGroup,
            path: path,
            code: EACCES,
            explanation:
                "\(node) belongs to gid \(overflowGroup), which means a group that this user namespace does not "
                + "map. This is a rootless container, and the process runs as \(process).",
            remedies: [
                "with Podman and crun, keep the groups of the user who starts it: "
                    + "podman run --device /dev/dri --group-add keep-groups ...",
                "with rootless Docker, give that user access on the host: sudo setfacl -m u:\"$USER\":rw \(path)",
            ]
        )
    }

    private func denied(because reason: String, remedies: [String]) -> NodeRefusal {
        NodeRefusal(
            cause: .permissionDenied,
            path: path,
            code: EACCES,
            explanation: "\(node) cannot be opened: \(reason). This process runs as \(process).",
            remedies: remedies
        )
    }

    private var node: String {
        let mode = String(file.permissions, radix: 8)
        return "\(path) (uid \(file.owner), \(groupText), mode 0\(mode))"
    }

    private var groupText: String { groupEntry.map { "group \($0.name) (gid \(file.group))" } ?? "gid \(file.group)" }

    private var groupOrNumber: String { groupEntry?.name ?? String(file.group) }
}

// MARK: - Other causes

extension AccessJudgement {
    private var deviceNotAllowed: NodeRefusal {
        let unit = "in a systemd unit: PrivateDevices=no and DeviceAllow=char-drm rw"
        return NodeRefusal(
            cause: .deviceNotAllowed,
            path: path,
            code: EPERM,
            explanation: "\(path) exists, but the device rules of this process's control group forbid it: /dev/dri was "
                + "mounted into the container as a volume instead of passed as a device.",
            remedies: process.container == nil
                ? process.passingTheDevice + [unit]
                : process.passingTheDevice + ["in Kubernetes: the GPU vendor's device plugin instead of hostPath"]
        )
    }

    private func noDriver(_ error: SystemError) -> NodeRefusal {
        let inContainer = ["create the container again: device numbers may have changed since it was created"]
        let onHost = ["look at the kernel log: sudo dmesg | grep -iE 'drm|i915|xe|amdgpu'"]
        return NodeRefusal(
            cause: .noDriver,
            path: path,
            code: error.code,
            explanation: "\(path) exists, but its kernel driver does not respond (\(error.text)).",
            remedies: process.container == nil ? onHost : inContainer + onHost
        )
    }
}

extension NodeRefusal {
    /// Returns the refusal of a node that could not be examined.
    static func unreachable(path: String, error: SystemError, process: ProcessIdentity) -> NodeRefusal {
        switch error.code {
        case ENOENT, ENOTDIR: .vanished(path: path)
        case EACCES: .closedFolder(onTheWayTo: path, process: process)
        default: .failed(path: path, error: error)
        }
    }

    /// Returns the refusal if this process can neither list nor traverse a folder.
    static func closedFolder(onTheWayTo path: String, process: ProcessIdentity) -> NodeRefusal {
        NodeRefusal(
            cause: .permissionDenied,
            path: path,
            code: EACCES,
            explanation: "A parent folder of \(path) denies access to \(process).",
            remedies: [
                "find the folder: namei -l \(path)", "give access to /dev/dri, the usual one: sudo chmod 0755 /dev/dri",
            ]
        )
    }

    /// Returns the refusal of a node that was listed and has disappeared.
    static func vanished(path: String) -> NodeRefusal {
        NodeRefusal(
            cause: .vanished,
            path: path,
            code: ENOENT,
            explanation: "\(path) does not exist: the GPU or its driver was removed, or the path is wrong.",
            remedies: ["list the nodes that exist: ls -l /dev/dri"]
        )
    }

    /// Returns the refusal if no descriptor was left to open the node.
    static func outOfDescriptors(path: String, error: SystemError) -> NodeRefusal {
        NodeRefusal(
            cause: .outOfDescriptors,
            path: path,
            code: error.code,
            explanation: "\(path) cannot be opened: \(error.text).",
            remedies: ["allow more open files: ulimit -n 65536"]
        )
    }

    /// Returns the refusal for any other error code.
    static func failed(path: String, error: SystemError) -> NodeRefusal {
        NodeRefusal(
            cause: .failed,
            path: path,
            code: error.code,
            explanation: "\(path): \(error.call) failed: \(error.text) (errno \(error.code)).",
            remedies: []
        )
    }
}

extension ProcessIdentity {
    /// The command of the container engine, as far as it is known.
    var engine: String { (container ?? .docker).rawValue }

    /// The remedies that pass the GPU to a container.
    var passingTheDevice: [String] {
        [
            "pass the GPU to the container as a device: \(engine) run --device /dev/dri ...",
            "or in compose.yaml: devices: [\"/dev/dri:/dev/dri\"]",
        ]
    }
}
