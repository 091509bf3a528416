// SPDX-License-Identifier: GPL-2.0-or-later

internal import CVideo4Linux
internal import Glibc
public import MediaTypes
internal import Synchronization

/// The controls of an open camera: exposure, focus, white balance and others. They can be used from any thread, also
/// while pictures are read.
public final class V4L2Controls: Sendable {
    /// The node, until the camera is closed.
    private let node: Mutex<VideoNode?>

    init(_ node: VideoNode) { self.node = Mutex(node) }

    func close() { node.withLock { $0 = nil } }

    /// Returns all controls with their present values.
    ///
    /// - Throws: `unavailable` if the camera is gone; `invalidState` after it was closed.
    public func all() throws(MediaError) -> [V4L2Camera.Control] {
        try node.withLock { (node) throws(MediaError) in
            let node = try Self.open(node)
            try node.checkPresence()
            return node.controls()
        }
    }

    /// Sets a control.
    ///
    /// - Parameters:
    ///   - name: The name of the control, in any form that has the same ``V4L2Camera/Control/key``.
    ///   - value: The value: a number in the range of the control, or the name of an item of its menu.
    /// - Returns: The value that the camera has set.
    /// - Throws: `invalidArgument` for a name or a value that the camera does not have, with those that it has;
    ///   `unsupported` for a control that cannot be set; `invalidState` for one that another control rules out at
    ///   present; `unavailable` if the camera is gone; `inputOutput` if it refuses the value.
    @discardableResult
    public func set(_ name: String, to value: V4L2Camera.Setting.Value) throws(MediaError) -> Int64 {
        try node.withLock { (node) throws(MediaError) in
            let node = try Self.open(node)
            try node.checkPresence()
            let control = try Self.find(name, in: node.controls())
            return try node.set(control, to: try control.number(of: value))
        }
    }

    /// Sets a control to its default value.
    ///
    /// - Throws: As ``set(_:to:)``.
    @discardableResult
    public func reset(_ name: String) throws(MediaError) -> Int64 {
        try node.withLock { (node) throws(MediaError) in
            let node = try Self.open(node)
            try node.checkPresence()
            let control = try Self.find(name, in: node.controls())
            return try node.set(control, to: control.defaultValue)
        }
    }

    private static func open(_ node: VideoNode?) throws(MediaError) -> VideoNode {
        guard let node else { throw MediaError(.invalidState, "the camera was closed") }
        return node
    }

    private static func find(
        _ name: String,
        in controls: [V4L2Camera.Control]
    ) throws(MediaError) -> V4L2Camera.Control {
        let key = V4L2Camera.Control.key(name)
        if let control = controls.first(where: { $0.key == key }) { return control }
        throw MediaError(
            .invalidArgument,
            "the camera has no such control",
            given: name,
            allowed: controls.isEmpty ? "none" : controls.map(\.key).joined(separator: ", ")
        )
    }
}

extension V4L2Camera.Control {
    /// What can be set, for messages.
    var allowed: String {
        switch kind {
        case .menu: items.map { "\($0.value) (\($0.name))" }.joined(separator: ", ")
        case .bitmask: "bits of 0x" + String(UInt64(bitPattern: range.upperBound), radix: 16)
        case .button: "any value"
        case .boolean: "0 or 1"
        case .integer:
            "\(range.lowerBound)...\(range.upperBound)" + (step == 1 ? "" : " in steps of \(step)")
        }
    }

    /// Returns the number of a value.
    ///
    /// - Throws: `invalidArgument` for a value that the control does not have; `unsupported` if it cannot be set;
    ///   `invalidState` if it has no effect at present.
    func number(of value: V4L2Camera.Setting.Value) throws(MediaError) -> Int64 {
        if isReadOnly { throw MediaError(.unsupported, "the control cannot be set", given: key) }
        guard let number = parsed(value), isAllowed(number) else {
            throw MediaError(
                .invalidArgument,
                "the value of \(key) is out of range",
                given: "\(value)",
                allowed: allowed
            )
        }
        guard isActive else {
            throw MediaError(
                .invalidState,
                "\(key) has no effect at present, because another control, such as an automatic one, rules it out",
                given: "\(value)",
                remedies: ["Switch the automatic control off first"]
            )
        }
        return number
    }

    private func parsed(_ value: V4L2Camera.Setting.Value) -> Int64? {
        switch value {
        case .number(let number): return number
        case .text(let text):
            let item = items.first { $0.name == text } ?? items.first { Self.key($0.name) == Self.key(text) }
            return item?.value ?? Int64(text)
        }
    }

    private func isAllowed(_ number: Int64) -> Bool {
        switch kind {
        case .button: return true
        case .menu: return items.contains { $0.value == number }
        case .bitmask: return number >= 0 && number & ~range.upperBound == 0
        case .integer, .boolean:
            guard range.contains(number) else { return false }
            let (distance, overflow) = number.subtractingReportingOverflow(range.lowerBound)
            return overflow || distance % step == 0
        }
    }
}

// MARK: - Requests

extension VideoNode {
    /// No driver has more controls, or items of a menu.
    private static let limit = 512

    /// The controls with their present values, without those of types that no caller can set.
    func controls() -> [V4L2Camera.Control] {
        var result: [V4L2Camera.Control] = []
        var id: UInt32 = 0
        for _ in 0..<Self.limit {
            var control = CVideo4Linux.video_control()
            guard video_control(descriptor, id, 1, &control) == 0, control.id > id else { break }
            id = control.id
            if let control = self.control(&control) { result.append(control) }
        }
        return result
    }

    private func control(_ control: inout CVideo4Linux.video_control) -> V4L2Camera.Control? {
        func has(_ flag: Int32) -> Bool { control.flags & UInt32(flag) != 0 }
        let kind: V4L2Camera.Control.Kind
        switch v4l2_ctrl_type(control.type) {
        case V4L2_CTRL_TYPE_INTEGER, V4L2_CTRL_TYPE_INTEGER64: kind = .integer
        case V4L2_CTRL_TYPE_BOOLEAN: kind = .boolean
        case V4L2_CTRL_TYPE_MENU, V4L2_CTRL_TYPE_INTEGER_MENU: kind = .menu
        case V4L2_CTRL_TYPE_BUTTON: kind = .button
        case V4L2_CTRL_TYPE_BITMASK: kind = .bitmask
        default: return nil
        }
        guard !has(V4L2_CTRL_FLAG_DISABLED), control.count <= 1, control.minimum <= control.maximum else { return nil }
        var value: Int64 = 0
        let isReadable = kind != .button && !has(V4L2_CTRL_FLAG_WRITE_ONLY)
        let isRead = isReadable && video_control_value(descriptor, control.id, control.type, 0, &value) == 0
        return V4L2Camera.Control(
            id: control.id,
            name: Self.text(&control.name),
            kind: kind,
            range: kind == .bitmask ? 0...max(control.maximum, 0) : control.minimum...control.maximum,
            step: Int64(clamping: control.step),
            defaultValue: control.default_value,
            value: isRead ? value : nil,
            items: kind == .menu ? items(control) : [],
            isReadOnly: has(V4L2_CTRL_FLAG_READ_ONLY),
            isActive: !has(V4L2_CTRL_FLAG_INACTIVE)
        )
    }

    private func items(_ control: CVideo4Linux.video_control) -> [V4L2Camera.Control.Item] {
        let least = max(control.minimum, 0)
        let most = min(control.maximum, least + Int64(Self.limit))
        guard least <= most else { return [] }
        return (least...most).compactMap { index in
            var item = CVideo4Linux.video_menu_item()
            guard video_menu_item(descriptor, control.id, UInt32(clamping: index), &item) == 0 else { return nil }
            let isNamed = control.type == V4L2_CTRL_TYPE_MENU.rawValue
            return .init(value: index, name: isNamed ? Self.text(&item.name) : "\(item.value)")
        }
    }

    /// Sets a control.
    ///
    /// - Returns: The value that the driver has set.
    func set(_ control: V4L2Camera.Control, to number: Int64) throws(MediaError) -> Int64 {
        var described = CVideo4Linux.video_control()
        try check(video_control(descriptor, control.id, 0, &described), "VIDIOC_QUERY_EXT_CTRL", "the control is gone")
        var value = number
        let status = video_control_value(descriptor, control.id, described.type, 1, &value)
        guard status != -EACCES else {
            throw MediaError(
                .invalidState,
                "the camera does not let \(control.key) be set at present",
                given: "\(number)",
                call: "VIDIOC_S_EXT_CTRLS",
                status: Int(EACCES)
            )
        }
        try check(status, "VIDIOC_S_EXT_CTRLS", "the camera refuses the value \(number) of \(control.key)")
        return value
    }
}
