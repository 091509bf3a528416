// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// The NAL units of one picture in the driver's memory, valid as long as the coded buffer is mapped.
struct CodedAccessUnit {
    private struct Unit {
        var bytes: UnsafeRawBufferPointer
        var header: any NALUnitHeader

        /// Whether it is an SEI unit that starts with a buffering period.
        var isBufferingPeriod: Bool {
            header.isPrefixSEI && bytes.count > header.byteCount
                && bytes[header.byteCount] == SEIMessage.PayloadType.bufferingPeriod.rawValue
        }
    }

    private let units: [Unit]
    /// The owner of the memory of units that span several segments.
    private let streams: CodedStreams

    /// Finds the NAL units.
    ///
    /// - Parameters:
    ///   - pieces: The coded segments, in order.
    ///   - codec: The codec.
    init(_ pieces: [CodedPiece], _ codec: VideoCodec) throws(MediaError) {
        streams = CodedStreams(pieces)
        do throws(BitstreamError) {
            var units: [Unit] = []
            func add(_ bytes: UnsafeRawBufferPointer) throws(BitstreamError) {
                units.append(Unit(bytes: bytes, header: try codec.nalUnitHeader(of: bytes)))
            }
            for part in streams.parts {
                switch part {
                case .stream(let stream):
                    for range in try NALUnitFraming.annexB.nalUnits(in: stream) {
                        try add(UnsafeRawBufferPointer(rebasing: stream[range]))
                    }
                case .bareUnit(let bytes):
                    try add(bytes)
                }
            }
            self.units = units
        } catch {
            throw MediaError(.malformedData, "the driver's NAL units cannot be parsed: \(error)")
        }
        guard units.contains(where: { $0.header.isVideoCodingLayer }) else {
            throw MediaError(.malformedData, "the driver's coded picture has no slice")
        }
    }

    /// Whether the picture is an IDR picture.
    var isIDR: Bool { units.contains { $0.header.isIDR } }

    /// Copies of the parameter sets, in order.
    var parameterSets: [[UInt8]] {
        withExtendedLifetime(streams) { units.filter { $0.header.isParameterSet }.map { Array($0.bytes) } }
    }

    /// Returns copies of the units without parameter sets, each preceded by its length as a 32-bit big-endian number.
    ///
    /// - Parameters:
    ///   - delimiter: Whether the access unit begins with a delimiter. If not, a delimiter of the driver is removed.
    ///   - inserted: Units to insert before all others, without start codes.
    ///   - replacingBufferingPeriod: Whether they replace the driver's SEI unit with the buffering period, which is
    ///     then removed.
    func coded(
        delimiter: [UInt8]?,
        inserting inserted: [[UInt8]],
        replacingBufferingPeriod: Bool = false
    ) -> CodedData {
        let kept = units.filter {
            !$0.header.isParameterSet && !$0.header.isAccessUnitDelimiter
                && !(replacingBufferingPeriod && $0.isBufferingPeriod)
        }
        let front = (delimiter.map { [$0] } ?? []) + inserted
        let capacity = kept.reduce(0) { $0 + 4 + $1.bytes.count } + front.reduce(0) { $0 + 4 + $1.count }
        return CodedData(capacity: capacity) { memory in
            var offset = 0
            func append(_ bytes: UnsafeRawBufferPointer) {
                memory.storeBytes(of: UInt32(clamping: bytes.count).bigEndian, toByteOffset: offset, as: UInt32.self)
                UnsafeMutableRawBufferPointer(rebasing: memory[(offset + 4)...]).copyMemory(from: bytes)
                offset += 4 + bytes.count
            }
            for unit in front { unit.withUnsafeBytes(append) }
            withExtendedLifetime(streams) {
                for unit in kept { append(unit.bytes) }
            }
            return offset
        }
    }
}
