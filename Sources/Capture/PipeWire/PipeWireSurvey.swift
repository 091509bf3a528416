// SPDX-License-Identifier: GPL-2.0-or-later

internal import CPipeWire
internal import MediaTypes

/// What formats a node offers.
struct PipeWireOffered: Sendable, Hashable {
    /// The codes of SPA of uncompressed pictures, and whether they are in DMA-BUFs only.
    var pictures: [Offer] = []
    /// The names of other formats, such as `mjpg`.
    var others: [String] = []

    struct Offer: Sendable, Hashable {
        var code: UInt32
        var needsModifier: Bool
    }

    /// Whether there are pictures in memory other than DMA-BUFs.
    var hasOtherMemory: Bool {
        let supported = PipeWireFormat.offered.map(\.code)
        return pictures.contains { !$0.needsModifier && supported.contains($0.code) }
    }

    /// Checks that there is one for a request. A node that offers nothing yet may do so later.
    ///
    /// - Throws: `unsupported` with what the node offers.
    func check(_ request: PipeWireStream.Request, _ node: PipeWireNode) throws(MediaError) {
        guard !pictures.isEmpty || !others.isEmpty else { return }
        let supported = PipeWireFormat.offered.map(\.code)
        let usable = pictures.filter { supported.contains($0.code) }
        if usable.contains(where: { !$0.needsModifier || !request.modifiers.isEmpty }) { return }
        var names: [String] = []
        for name in pictures.map({ PipeWireFormat.name($0.code) }) + others where !names.contains(name) {
            names.append(name)
        }
        throw MediaError(
            .unsupported,
            usable.isEmpty
                ? "the source has no format that is supported" : "the source delivers its pictures in DMA-BUFs only",
            given: "\(node.description) (node \(node.id)) with \(names.joined(separator: ", "))",
            allowed: usable.isEmpty
                ? supported.map { PipeWireFormat.name($0) }.joined(separator: ", ")
                : "such a source with the modifiers of an encoder on a GPU"
        )
    }
}

/// Asks a node for the formats that it offers.
final class PipeWireSurvey {
    private(set) var offered = PipeWireOffered()
    private let events = UnsafeMutablePointer<pw_node_events>.allocate(capacity: 1)
    private let hook = UnsafeMutablePointer<spa_hook>.allocate(capacity: 1)
    private var proxy: OpaquePointer?

    /// Asks. The answer is complete when the connection is synchronised.
    init(_ node: UInt32, of registry: OpaquePointer) {
        events.initialize(to: pw_node_events())
        hook.initialize(to: spa_hook())
        events.pointee.version = UInt32(PW_VERSION_NODE_EVENTS)
        events.pointee.param = { data, _, id, _, _, parameter in
            guard let data, let parameter, id == SPA_PARAM_EnumFormat.rawValue else { return }
            Unmanaged<PipeWireSurvey>.fromOpaque(data).takeUnretainedValue().add(parameter)
        }
        proxy = pipewire_ask_for_formats(registry, node, hook, events, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        if let proxy {
            pipewire_remove_hook(hook)
            pw_proxy_destroy(proxy)
        }
        events.deallocate()
        hook.deallocate()
    }

    private func add(_ parameter: UnsafePointer<spa_pod>) {
        var formats = pipewire_formats()
        pipewire_parse_offer(parameter, &formats)
        guard formats.subtype == SPA_MEDIA_SUBTYPE_raw.rawValue else {
            offered.others.append(String(cString: pipewire_subtype_name(formats.subtype)))
            return
        }
        let codes = withUnsafeBytes(of: formats.formats) { Array($0.bindMemory(to: UInt32.self)) }
        offered.pictures += codes.prefix(Int(formats.count)).map {
            PipeWireOffered.Offer(code: $0, needsModifier: formats.needs_modifier != 0)
        }
    }
}
