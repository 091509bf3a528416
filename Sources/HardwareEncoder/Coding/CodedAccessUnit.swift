// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// The NAL units of one picture as a driver left them, in its memory: valid as long as the coded buffer is mapped.
struct CodedAccessUnit {
    private struct Unit {
        var bytes: UnsafeRawBufferPointer
        var header: any NALUnitHeader

        /// Whether it is SEI whose first message is a buffering period.
        var isBufferingPeriod: Bool {
            header.isPrefixSEI && bytes.count > header.byteCount
                && bytes[header.byteCount] == SEIMessage.PayloadType.bufferingPeriod.rawValue
        }
    }

    private let units: [Unit]
    /// Owns the memory of units that lie in several segments.
    private let streams: CodedStreams

    /// Finds the NAL units.
    ///
    /// - Parameters:
    ///   - pieces: the coded segments, in order.
    ///   - codec: what was coded.
    /// - Throws: `malformedData` if there is no slice, or if something is there that begins with no start code.
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
            throw MediaError(.malformedData, "the driver's NAL units cannot be separated: \(error)")
        }
        guard units.contains(where: { $0.header.isVideoCodingLayer }) else {
            throw MediaError(.malformedData, "the driver's coded picture has no slice")
        }
    }

    /// Whether the picture is an IDR picture.
    var isIDR: Bool { units.contains { $0.header.isIDR } }

    /// The parameter sets, in order, copied.
    var parameterSets: [[UInt8]] {
        withExtendedLifetime(streams) { units.filter { $0.header.isParameterSet }.map { Array($0.bytes) } }
    }

    /// Copies the units, each behind its length as a 32-bit big-endian number, without parameter sets.
    ///
    /// - Parameters:
    ///   - delimiter: whether the access unit begins with a delimiter; one of the driver's is left out if it does not.
    ///   - inserted: units to put before all others, without start codes.
    ///   - replacingBufferingPeriod: whether they stand for the driver's SEI unit with the buffering period, which is
    ///     left out.
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
