// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import CPulse
public import MediaTypes

/// What a server tells of its sources.
final class PulseSources {
    private(set) var defaultSource = ""
    private(set) var defaultSink = ""
    private(set) var all: [(description: SoundSourceDescription, specification: pa_sample_spec)] = []

    /// Asks a server.
    init(_ connection: PulseConnection) throws(MediaError) {
        let this = Unmanaged.passUnretained(self).toOpaque()
        try connection.finish(
            pa_context_get_server_info(
                connection.context,
                { _, server, this in
                    guard let server, let this else { return }
                    let sources = Unmanaged<PulseSources>.fromOpaque(this).takeUnretainedValue()
                    sources.defaultSource = PulseSources.text(server.pointee.default_source_name)
                    sources.defaultSink = PulseSources.text(server.pointee.default_sink_name)
                },
                this
            ),
            "for the default source"
        )
        try connection.finish(
            pa_context_get_source_info_list(
                connection.context,
                { _, source, isLast, this in
                    guard isLast == 0, let source, let this else { return }
                    Unmanaged<PulseSources>.fromOpaque(this).takeUnretainedValue().add(source.pointee)
                },
                this
            ),
            "for its sources"
        )
    }

    private func add(_ source: pa_source_info) {
        let name = Self.text(source.name)
        let isMonitor = source.monitor_of_sink != .max
        let description = SoundSourceDescription(
            name: name,
            text: Self.text(source.description).split(whereSeparator: \.isNewline).joined(separator: " "),
            isDefault: name == defaultSource,
            isMonitor: isMonitor,
            isDefaultMonitor: isMonitor && Self.text(source.monitor_of_sink_name) == defaultSink,
            format: AudioFormat(source.sample_spec)
        )
        all.append((description, source.sample_spec))
    }

    private static func text(_ text: UnsafePointer<CChar>?) -> String { text.map { String(cString: $0) } ?? "" }

    /// The names for an error.
    var names: String {
        let names = ["default", "monitor"] + all.map(\.description.name)
        return names.joined(separator: ", ") + (all.isEmpty ? ", but the server has no sources" : "")
    }
}

extension PulseSource {
    /// The sources of a sound server.
    ///
    /// - Parameters:
    ///   - server: The address, as in `$PULSE_SERVER`; `nil` for the default.
    ///   - stop: Ends the waits.
    /// - Throws: `unavailable` if there is no server or it refuses; `cancelled`; `outOfMemory`.
    public static func sources(
        server: String? = nil,
        stop: StopSignal
    ) throws(MediaError) -> [SoundSourceDescription] {
        try PulseSources(PulseConnection(server: server, stop: stop)).all.map(\.description)
    }
}
