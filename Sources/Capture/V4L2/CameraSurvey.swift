// SPDX-License-Identifier: GPL-2.0-or-later

internal import CVideo4Linux
internal import Glibc
internal import MediaTypes

/// Finds the cameras in a folder of devices.
struct CameraSurvey {
    /// The folder, `/dev` but for tests.
    let folder: String

    /// The numbers of the nodes, ascending.
    private func numbers() throws(MediaError) -> [Int] {
        guard let names = Self.names(folder) else {
            throw MediaError(
                .inputOutput,
                "the folder of devices cannot be read",
                given: folder,
                call: "opendir",
                status: Int(errno)
            )
        }
        return names.compactMap { $0.hasPrefix("video") ? Int($0.dropFirst(5)) : nil }.filter { $0 >= 0 }.sorted()
    }

    /// The cameras, by number; nodes that capture no pictures are left out.
    func devices() throws(MediaError) -> [V4L2Camera.Device] {
        let links = links()
        var result: [V4L2Camera.Device] = []
        for number in try numbers() {
            let path = "\(folder)/video\(number)"
            do throws(MediaError) {
                let node = try VideoNode(path)
                if node.type != nil { result.append(describe(node, links)) }
            } catch {
                // A node that was removed meanwhile, or is another kind of device.
                if error.cause == .unknownDevice || error.code == .unsupported { continue }
                result.append(
                    V4L2Camera.Device(path: path, name: path, id: Self.id(path, links) ?? path, problem: error)
                )
            }
        }
        return result
    }

    /// Opens a camera.
    ///
    /// - Throws: `unavailable` if there is none, with those that there are.
    func open(_ selector: V4L2Camera.Selector) throws(MediaError) -> (VideoNode, V4L2Camera.Device) {
        let links = links()
        if case .path(let path) = selector {
            let node = try VideoNode(path)
            return (node, describe(node, links))
        }
        var problem: MediaError?
        for number in try numbers() {
            let path = "\(folder)/video\(number)"
            do throws(MediaError) {
                let node = try VideoNode(path)
                guard node.type != nil else { continue }
                let isWanted =
                    switch selector {
                    case .first: true
                    case .path(let wanted): wanted == path
                    case .id(let id): id == Self.id(path, links) ?? node.bus
                    case .name(let name): name == node.name
                    }
                guard isWanted else { continue }
                let device = describe(node, links)
                // A laptop's infrared camera, or raw samples of a sensor, are not what a caller without a wish wants.
                if selector != .first || device.formats.contains(where: \.isKnown) { return (node, device) }
            } catch {
                let mayBeWanted: Bool
                switch selector {
                case .id(let id): mayBeWanted = Self.id(path, links) == id
                default: mayBeWanted = error.cause != .unknownDevice && error.code != .unsupported
                }
                if mayBeWanted { problem = problem ?? error }
            }
        }
        if let problem { throw problem }
        throw MediaError(
            .unavailable,
            "there is no such camera",
            given: "\(selector)",
            allowed: try summary(),
            cause: .unknownDevice,
            remedies: ["Plug the camera in", "See what is there: ls -l /dev/video* /dev/v4l/by-id"]
        )
    }

    /// Returns the type of a node's queue.
    ///
    /// - Throws: `unsupported` if the node captures no pictures.
    func captureType(of node: VideoNode) throws(MediaError) -> UInt32 {
        if let type = node.type { return type }
        throw MediaError(
            .unsupported,
            "the node does not capture pictures",
            given: node.path,
            allowed: "nodes that do: \(try summary())"
        )
    }

    /// The cameras, for messages.
    func summary() throws(MediaError) -> String {
        let devices = try devices()
        return devices.isEmpty ? "none" : devices.map { "\($0.path) (\($0.name), id \($0.id))" }.joined(separator: ", ")
    }

    private func describe(_ node: VideoNode, _ links: [String: String]) -> V4L2Camera.Device {
        V4L2Camera.Device(
            path: node.path,
            name: node.name,
            driver: node.driver,
            bus: node.bus,
            id: Self.id(node.path, links) ?? node.bus,
            formats: node.formats(),
            controls: node.controls()
        )
    }

    // MARK: - Links

    /// The folders of links whose names stay the same, the best one first.
    private var linkFolders: [String] { ["\(folder)/v4l/by-id", "\(folder)/v4l/by-path"] }

    /// The name of the link to each node, by the node's true path.
    private func links() -> [String: String] {
        var result: [String: String] = [:]
        for links in linkFolders {
            for name in (Self.names(links) ?? []).sorted() {
                guard let target = Self.truePath("\(links)/\(name)"), result[target] == nil else { continue }
                result[target] = name
            }
        }
        return result
    }

    private static func id(_ path: String, _ links: [String: String]) -> String? {
        truePath(path).flatMap { links[$0] }
    }

    private static func truePath(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func names(_ folder: String) -> [String]? {
        guard let stream = opendir(folder) else { return nil }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                names.append(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
            }
        }
        return names
    }

    // MARK: - Waiting

    /// Waits until a camera can be opened.
    ///
    /// The kernel makes the node first; udev then changes its group, and makes the links. Each of these is an event of
    /// a folder. A folder that is made meanwhile has none yet, so the search is repeated once a second too.
    func wait(for selector: V4L2Camera.Selector, stop: StopSignal) throws(MediaError) -> V4L2Camera.Device {
        let watch = video_watch()
        guard watch >= 0 else {
            throw MediaError(
                .outOfMemory,
                "no descriptor to watch for cameras",
                call: "inotify_init1",
                status: Int(errno)
            )
        }
        defer { close(watch) }
        let events = UInt32(IN_CREATE | IN_ATTRIB | IN_MOVED_TO)
        while true {
            for path in [folder, "\(folder)/v4l"] + linkFolders { inotify_add_watch(watch, path, events) }
            do throws(MediaError) {
                let (node, device) = try open(selector)
                _ = try captureType(of: node)
                return device
            } catch {
                let mayPass: [MediaError.Code] = [.unavailable, .busy, .inputOutput]
                guard mayPass.contains(error.code) else { throw error }
            }
            try stop.wait(for: [(watch, Int16(POLLIN))], until: 1000)
            withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { bytes in
                while read(watch, bytes.baseAddress, bytes.count) > 0 {}
            }
        }
    }
}
