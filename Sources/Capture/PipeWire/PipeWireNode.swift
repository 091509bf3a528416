// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// A source of pictures that a PipeWire server offers: a camera, or the screen of a program that shares it.
public struct PipeWireNode: Sendable, Hashable {
    /// The number of the node, by which ``PipeWireStream/Request`` finds it. It lasts as long as the node; later,
    /// another object may have it.
    public var id: UInt32
    /// The name for programs (`node.name`), which usually stays the same, for example
    /// `v4l2_input.pci-0000_00_14.0-usb-0_1_1.0`.
    public var name: String
    /// The name for people (`node.description`), for example `Integrated Camera`; ``name`` if there is none.
    public var description: String
    /// What the node is (`media.class`): `Video/Source` for cameras, `Stream/Output/Video` for pictures of a program. A
    /// server may state none of the nodes that the desktop portal allows.
    public var mediaClass: String
    /// The preference of the session manager (`priority.session`); more is better.
    public var priority: Int

    /// Describes a node.
    public init(id: UInt32, name: String, description: String = "", mediaClass: String = "", priority: Int = 0) {
        (self.id, self.name, self.mediaClass, self.priority) = (id, name, mediaClass, priority)
        self.description = description.isEmpty ? name : description
    }

    /// Whether it is a source of pictures, as far as the server says.
    public var isPictureSource: Bool { mediaClass.hasPrefix("Video/Source") || mediaClass == "Stream/Output/Video" }

    /// Returns the sources of pictures of a server, the preferred ones first.
    ///
    /// - Parameters:
    ///   - remote: The socket of the server: a name in `XDG_RUNTIME_DIR` or a path; the default one if `nil`.
    ///   - stop: Ends the waits for the server.
    /// - Throws: `unavailable` if there is no server; `deadlineExceeded` if it does not answer; `cancelled` after the
    ///   stop signal.
    public static func list(remote: String? = nil, stop: StopSignal) throws(MediaError) -> [PipeWireNode] {
        let connection = try PipeWireConnection(.socket(remote))
        try connection.synchronise(stop)
        return preferred(Array(connection.nodes.values))
    }

    /// Returns the sources of pictures among nodes: those with the highest priority first, then the older ones.
    static func preferred(_ nodes: [PipeWireNode]) -> [PipeWireNode] {
        nodes.filter(\.isPictureSource).sorted { ($1.priority, $0.id) < ($0.priority, $1.id) }
    }
}
