// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation

/// `vatoolbox-service healthy [PORT]`: whether the service of this machine takes jobs and works on them.
///
/// It is for the health checks of containers, whose image has no other HTTP client. It asks `/readyz` at the address and
/// port of the environment, and ends with 0 if the service is ready, with 1 if not, and with 2 for a wrong argument.
/// What the service answers is printed. If it speaks TLS only, it is asked for a connection and no more.
enum HealthCommand {
    static let subcommand = "healthy"

    static func run(_ arguments: [String]) -> Never {
        let environment = ProcessInfo.processInfo.environment
        let port = arguments.first ?? environment["VATOOLBOX_SERVICE_LISTEN_PORT"] ?? "8080"
        guard arguments.count <= 1, let number = UInt16(port), number > 0 else {
            end("usage: vatoolbox-service healthy [PORT] (given \(port); allowed: 1 to 65535)", status: 2)
        }
        // The kernel takes 0.0.0.0 and :: for this machine.
        let host = environment["VATOOLBOX_SERVICE_LISTEN_HOST"] ?? "127.0.0.1"
        guard let socket = connect(to: host, port) else {
            end("nothing answers at \(host), port \(port): \(String(cString: strerror(errno)))", status: 1)
        }
        if environment["VATOOLBOX_SERVICE_TLS_CERTIFICATE"] != nil { end("accepts connections", status: 0) }
        let answer = ask("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", socket)
        let isReady = answer.hasPrefix("HTTP/1.1 200 ")
        let body = answer.range(of: "\r\n\r\n").map { answer[$0.upperBound...] } ?? "no answer within 5 seconds"
        end(body.trimmingCharacters(in: .newlines), status: isReady ? 0 : 1)
    }

    private static func end(_ message: String, status: Int32) -> Never {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
        exit(status)
    }

    /// A connection whose calls take at most 5 seconds; `nil` with `errno`.
    private static func connect(to host: String, _ port: String) -> Int32? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, port, &hints, &found) == 0, let address = found else {
            errno = EADDRNOTAVAIL
            return nil
        }
        defer { freeaddrinfo(found) }
        let socket = socket(address.pointee.ai_family, address.pointee.ai_socktype, 0)
        guard socket >= 0 else { return nil }
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(socket, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard Glibc.connect(socket, address.pointee.ai_addr, address.pointee.ai_addrlen) == 0 else { return nil }
        return socket
    }

    /// What is answered to a request until the connection ends, at most 4 KiB.
    private static func ask(_ request: String, _ socket: Int32) -> String {
        let bytes = Array(request.utf8)
        guard send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return "" }
        var answer: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1024)
        while answer.count < 4096 {
            let count = recv(socket, &part, part.count, 0)
            guard count > 0 else { break }
            answer += part[..<count]
        }
        return String(decoding: answer, as: UTF8.self)
    }
}
