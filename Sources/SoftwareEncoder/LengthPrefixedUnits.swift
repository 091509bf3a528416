// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension CodedData {
    /// Copies NAL units, each with a 32-bit big-endian length prefix.
    ///
    /// - Parameter units: The units without start codes.
    convenience init(lengthPrefixing units: some Sequence<UnsafeRawBufferPointer>) {
        let lengthSize = MemoryLayout<UInt32>.size
        self.init(capacity: units.reduce(0) { $0 + lengthSize + $1.count }) { memory in
            var offset = 0
            for unit in units {
                let length = UInt32(truncatingIfNeeded: unit.count).bigEndian
                memory.storeBytes(of: length, toByteOffset: offset, as: UInt32.self)
                offset += lengthSize
                UnsafeMutableRawBufferPointer(rebasing: memory[offset...]).copyMemory(from: unit)
                offset += unit.count
            }
            return offset
        }
    }
}
