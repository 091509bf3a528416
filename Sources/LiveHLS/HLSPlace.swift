// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Streaming

/// Where players get a presentation: a folder, a server in this program, or another server. It outlives connections.
protocol HLSPlace: AnyObject, Sendable {
    /// Begins a connection, before anything is added to the presentation.
    func connect(_ limits: ConnectionLimits, _ stop: StopSignal) throws(MediaError)

    /// - Throws: Why the stream cannot go on with this connection.
    func check() throws(MediaError)

    /// Waits until players can get the end of the stream.
    func finish(_ stop: StopSignal) throws(MediaError)

    /// Ends what belongs to a connection.
    func disconnect()

    /// Ends it; nobody waits for that.
    func stop()

    /// What the network tells; `nil` without one.
    var measurements: LinkMeasurements? { get }
}

extension HLSPlace {
    func connect(_ limits: ConnectionLimits, _ stop: StopSignal) throws(MediaError) {}
    func check() throws(MediaError) {}
    func finish(_ stop: StopSignal) throws(MediaError) {}
    func disconnect() {}
    func stop() {}
    var measurements: LinkMeasurements? { nil }
}

extension FolderStore: HLSPlace {}
