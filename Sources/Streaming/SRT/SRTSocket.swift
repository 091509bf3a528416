// SPDX-License-Identifier: GPL-2.0-or-later

internal import CSRT
internal import Glibc
internal import MediaTypes

/// A socket of libsrt whose calls do not wait. It is closed with the last reference.
final class SRTSocket {
    private let handle: SRTSOCKET
    /// Tells a listening socket of connections; -1 for others.
    private var events: Int32 = -1

    /// Makes a socket that is not connected.
    ///
    /// - Throws: `outOfMemory` if libsrt cannot make one.
    convenience init() throws(MediaError) {
        try SRTLibrary.start()
        let handle = srt_create_socket()
        guard handle != SRT_INVALID_SOCK else {
            throw SRTLibrary.failure("no SRT socket can be made", code: .outOfMemory, call: "srt_create_socket")
        }
        self.init(handle)
    }

    private init(_ handle: SRTSOCKET) { self.handle = handle }

    /// Tells the other side, and does not wait for what was not sent.
    deinit {
        srt_close(handle)
        if events >= 0 { srt_epoll_release(events) }
    }

    /// Sets an option; `SRTO_*` names the type.
    func set<Value: BitwiseCopyable>(_ option: SRT_SOCKOPT, _ value: Value) throws(MediaError) {
        let status = withUnsafeBytes(of: value) { srt_setsockflag(handle, option, $0.baseAddress, Int32($0.count)) }
        guard status == 0 else { throw refusedOption(option) }
    }

    /// Sets an option to a text.
    func set(_ option: SRT_SOCKOPT, text: String) throws(MediaError) {
        let status = text.withCString { srt_setsockflag(handle, option, $0, Int32(text.utf8.count)) }
        guard status == 0 else { throw refusedOption(option) }
    }

    private func refusedOption(_ option: SRT_SOCKOPT) -> MediaError {
        SRTLibrary.failure("libsrt refused option \(option.rawValue)", code: .unsupported, call: "srt_setsockflag")
    }

    func bind(_ address: SocketAddress) throws(MediaError) {
        let status = address.withPointer { srt_bind(handle, $0, Int32($1)) }
        guard status == 0 else {
            var failure = SRTLibrary.failure("the port cannot be used", given: address.description, call: "srt_bind")
            failure.remedies = ["find the program that uses the port: ss -lunp 'sport = :\(address.port)'"]
            throw failure
        }
    }

    /// Listens; ``accept()`` returns what has connected.
    func listen() throws(MediaError) {
        events = srt_epoll_create()
        guard events >= 0 else {
            throw SRTLibrary.failure("no descriptor for a socket", code: .outOfMemory, call: "srt_epoll_create")
        }
        var interest = Int32(SRT_EPOLL_IN.rawValue | SRT_EPOLL_ERR.rawValue)
        guard srt_epoll_add_usock(events, handle, &interest) == 0, srt_listen(handle, 1) == 0 else {
            throw SRTLibrary.failure("the socket cannot listen", call: "srt_listen")
        }
    }

    /// Returns a connection that was made with the listening socket, if there is one.
    func accept() throws(MediaError) -> SRTSocket? {
        // srt_accept logs an error if there is none.
        var event = SRT_EPOLL_EVENT()
        guard srt_epoll_uwait(events, &event, 1, 0) > 0 else { return nil }
        let accepted = srt_accept(handle, nil, nil)
        if accepted != SRT_INVALID_SOCK { return SRTSocket(accepted) }
        guard srt_getlasterror(nil) != SRT_EASYNCRCV.rawValue else { return nil }
        throw SRTLibrary.failure("no connection can be accepted", call: "srt_accept")
    }

    /// Begins to connect; ``state`` tells when it is done.
    func connect(_ address: SocketAddress) throws(MediaError) {
        guard address.withPointer({ srt_connect(handle, $0, Int32($1)) }) != SRT_ERROR else {
            throw SRTLibrary.failure("the receiver cannot be reached", given: address.description, call: "srt_connect")
        }
    }

    var state: SRT_SOCKSTATUS { srt_getsockstate(handle) }

    /// Why the other side has refused the connection.
    var rejection: SRTRejection { SRTRejection(code: srt_getrejectreason(handle)) }

    /// Puts a message into the buffer of the socket.
    ///
    /// - Returns: Whether there was room for it.
    /// - Throws: `inputOutput` if the connection is lost.
    func send(_ message: [UInt8]) throws(MediaError) -> Bool {
        let count = message.withUnsafeBytes {
            srt_sendmsg2(handle, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count), nil)
        }
        if count == message.count { return true }
        if srt_getlasterror(nil) == SRT_EASYNCSND.rawValue { return false }
        throw SRTLibrary.failure("the connection to the receiver is lost", call: "srt_sendmsg2")
    }

    /// What libsrt has counted since the connection was made, and the buffer at present; `nil` without a connection.
    var statistics: SRTStatistics? {
        var values = CBytePerfMon()
        guard srt_bistats(handle, &values, 0, 1) == 0 else { return nil }
        return SRTStatistics(values)
    }
}

/// Those values of `srt_bistats` that a sender needs.
struct SRTStatistics: Sendable, Hashable {
    /// The smoothed round-trip time in seconds.
    var roundTrip: Double
    /// The packets that the receiver has not acknowledged.
    var bufferedPackets: Int64
    /// Their bytes, with headers.
    var bufferedBytes: Int
    /// The time between the first and the last packet that the receiver has not acknowledged, in milliseconds.
    var bufferedTime: Int32
    /// The bytes that were sent, with headers and with what was sent again.
    var sentBytes: Int64
    var retransmitted: Int64
    /// The packets that were not sent because they were too late.
    var droppedPackets: Int64
    /// The number of acknowledgements, modulo 2^32.
    var acknowledgements: Int64
    /// The latency of the receiver in milliseconds: the greater value of both sides.
    var latency: Int32
}

extension SRTStatistics {
    init(_ values: CBytePerfMon) {
        roundTrip = values.msRTT / 1000
        bufferedPackets = Int64(values.pktSndBuf)
        bufferedBytes = Int(values.byteSndBuf)
        bufferedTime = values.msSndBuf
        sentBytes = Int64(clamping: values.byteSentTotal)
        retransmitted = Int64(values.pktRetransTotal)
        droppedPackets = Int64(values.pktSndDropTotal)
        acknowledgements = Int64(UInt32(bitPattern: values.pktRecvACKTotal))
        latency = values.msSndTsbPdDelay
    }
}
