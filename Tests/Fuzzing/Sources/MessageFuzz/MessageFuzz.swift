// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FuzzSupport

// Supplemental enhancement information: messages are written as they were read, and those whose payload is understood
// are read from what they write.
//
// Input: a byte that says which codec, a length of two bytes, the SPS that timing needs, and a NAL unit.

/// What libFuzzer calls before anything else.
@c(LLVMFuzzerInitialize) public func initialize(_: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) -> CInt {
    FuzzProgram.start {
        SeedStream.all.flatMap { stream in
            let sequence = stream.units(.sequenceSet).first
            var messages = stream.units(.message)
            messages.append(SEIMessage.nalUnit(CaptionMessage.messages([0xFC, 0x94, 0x2C]), codec: stream.codec))
            return messages.map { unit in
                var output = FuzzOutput()
                output.byte(stream.codec == .h264 ? 0 : 1)
                output.short(sequence?.count ?? 0)
                output.append((sequence ?? []) + unit)
                return output.bytes
            }
        }
    }
}

/// What libFuzzer calls for every input.
@c(LLVMFuzzerTestOneInput) public func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(bytes, count)
    let codec: VideoCodec = input.byte() & 1 == 0 ? .h264 : .hevc
    let sequence = input.bytes(input.short())
    let unit = input.remainder()
    guard let messages = try? SEIMessage.messages(in: unit, codec: codec) else { return 0 }
    let again = try? SEIMessage.messages(in: SEIMessage.nalUnit(messages, codec: codec), codec: codec)
    precondition(again == messages, "messages are written as others than were read")
    for message in messages {
        switch codec {
        case .h264: readH264(message, (try? H264SequenceParameterSet(nalUnit: sequence)) ?? H264SequenceParameterSet())
        case .hevc: readHEVC(message, (try? HEVCSequenceParameterSet(nalUnit: sequence)) ?? HEVCSequenceParameterSet())
        }
    }
    return 0
}

/// Fails unless `value` is read from what it writes.
private func same<Value: Equatable>(
    _ value: Value?,
    write: (Value) throws -> SEIMessage,
    read: ([UInt8]) throws -> Value
) {
    guard let value else { return }
    do {
        let again = try read(try write(value).payload)
        precondition(again == value, "\(again) was read from what \(value) wrote")
    } catch {
        fatalError("\(value) was read and cannot be written or read again: \(error)")
    }
}

private func readH264(_ message: SEIMessage, _ sps: H264SequenceParameterSet) {
    switch message.type {
    case .bufferingPeriod:
        let read = { try H264BufferingPeriod(payload: $0, for: sps) }
        same(try? read(message.payload), write: { try $0.message(for: sps) }, read: read)
    case .pictureTiming:
        let read = { try H264PictureTiming(payload: $0, for: sps) }
        same(try? read(message.payload), write: { try $0.message(for: sps) }, read: read)
    case .recoveryPoint:
        let read = { try H264RecoveryPoint(payload: $0) }
        same(try? read(message.payload), write: { try $0.message() }, read: read)
    default: break
    }
}

private func readHEVC(_ message: SEIMessage, _ sps: HEVCSequenceParameterSet) {
    switch message.type {
    case .bufferingPeriod:
        let read = { try HEVCBufferingPeriod(payload: $0, for: sps) }
        same(try? read(message.payload), write: { try $0.message(for: sps) }, read: read)
    case .pictureTiming:
        let read = { try HEVCPictureTiming(payload: $0, for: sps) }
        same(try? read(message.payload), write: { try $0.message(for: sps) }, read: read)
    case .recoveryPoint:
        let read = { try HEVCRecoveryPoint(payload: $0) }
        same(try? read(message.payload), write: { try $0.message() }, read: read)
    default: break
    }
}
