// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// A TCP socket without blocking, which is closed with the object. One thread uses it.
final class Socket {
    let descriptor: Int32

    /// Takes over a descriptor, and sets what a live stream needs: segments leave at once (`TCP_NODELAY`), and the
    /// kernel takes little that it cannot send yet (`TCP_NOTSENT_LOWAT`), so that a delay is seen here.
    ///
    /// - Parameter unsentLimit: The number of bytes that the kernel keeps before the network is ready for them.
    init(owning descriptor: Int32, unsentLimit: Int32) {
        self.descriptor = descriptor
        set(IPPROTO_TCP, TCP_NODELAY, 1)
        set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsentLimit)
    }

    deinit { close(descriptor) }

    private func set(_ level: Int, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, Int32(level), option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Makes the closing reset the connection and drop what was not acknowledged (`SO_LINGER` of zero).
    func dropUnsentAtClosing() {
        var value = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }

    /// The number of bytes that the receiver has not acknowledged (`SIOCOUTQ`).
    var outstandingBytes: Int {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(max(count, 0)) : 0
    }

    /// What the kernel tells about the connection (`TCP_INFO`).
    var information: TCPInformation {
        var bytes = [UInt8](repeating: 0, count: 256)
        var count = socklen_t(bytes.count)
        let status = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &bytes, &count)
        return TCPInformation(bytes: status == 0 ? bytes.prefix(Int(count)) : [])
    }

    /// The error of a connection that was being made, and resets it (`SO_ERROR`).
    var pendingError: Int32 {
        var error: Int32 = 0
        var count = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &count) == 0 ? error : errno
    }

    /// The error of a call of the socket.
    static func failure(_ call: String, _ error: Int32) -> MediaError {
        MediaError(
            .inputOutput,
            "the connection is lost: \(String(cString: strerror(error)))",
            call: call,
            status: Int(error)
        )
    }
}

/// The fields of the kernel's `struct tcp_info` (`linux/tcp.h`) that tell about a link. Its layout is fixed, and later
/// kernels only append fields.
struct TCPInformation: Sendable, Hashable {
    /// `tcpi_rtt` in seconds; `nil` before there is a measurement.
    var roundTrip: Double?
    /// `tcpi_total_retrans`: the number of segments that were sent again.
    var retransmitted: Int64 = 0
    /// `tcpi_delivery_rate` in bit/s, unless the sender had too little to send for a measurement of the link.
    var deliveryRate: Double?

    init(bytes: ArraySlice<UInt8>) {
        func number(at offset: Int, byteCount: Int) -> UInt64? {
            let field = bytes.dropFirst(offset).prefix(byteCount)
            guard field.count == byteCount else { return nil }
            #if _endian(little)
            return field.reversed().reduce(0) { $0 << 8 | UInt64($1) }
            #else
            return field.reduce(0) { $0 << 8 | UInt64($1) }
            #endif
        }
        let microseconds = number(at: 68, byteCount: 4) ?? 0
        roundTrip = microseconds > 0 ? Double(microseconds) / 1e6 : nil
        retransmitted = Int64(number(at: 100, byteCount: 4) ?? 0)
        let isLimitedBySender = (number(at: 7, byteCount: 1) ?? 1) & 1 != 0
        let rate = number(at: 160, byteCount: 8) ?? 0
        deliveryRate = isLimitedBySender || rate == 0 ? nil : Double(rate) * 8
    }
}
