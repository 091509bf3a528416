// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// Makes an MPEG transport stream of units, for connections that carry one.
///
/// One thread, that of the connection, uses it.
package protocol StreamMuxer: AnyObject {
    /// Returns the packets that a unit adds to the stream: any number of whole packets of 188 bytes.
    func write(_ unit: LiveUnit) throws(MediaError) -> [UInt8]

    /// Returns the packets that remain at the end of the stream.
    func finish() throws(MediaError) -> [UInt8]
}
