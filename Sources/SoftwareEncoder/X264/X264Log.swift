// SPDX-License-Identifier: GPL-2.0-or-later

internal import CX264
internal import Glibc
internal import Logging
internal import Synchronization

/// The log of one x264 instance. It has to outlive the instance, whose threads call it.
final class X264Log: Sendable {
    private let logger: Logger
    private let errors = Mutex<[String]>([])

    init(_ logger: Logger) {
        self.logger = logger
    }

    /// Makes x264 log here, and only at the logger's levels; errors and warnings are always logged.
    func install(in parameters: inout x264_param_t) {
        parameters.p_log_private = Unmanaged.passUnretained(self).toOpaque()
        parameters.pf_log = { context, level, format, arguments in
            guard let context, let format, let arguments else { return }
            Unmanaged<X264Log>.fromOpaque(context).takeUnretainedValue()
                .write(level: level, text: X264Log.text(format, arguments))
        }
        parameters.i_log_level =
            switch logger.logLevel {
            case .trace: X264_LOG_DEBUG
            case .debug: X264_LOG_INFO
            default: X264_LOG_WARNING
            }
    }

    /// Returns the errors logged since the last call, in one line; `nil` if there were none.
    func takeErrors() -> String? {
        errors.withLock { lines in
            defer { lines = [] }
            return lines.isEmpty ? nil : lines.joined(separator: "; ")
        }
    }

    private func write(level: Int32, text: String) {
        switch level {
        case X264_LOG_ERROR:
            errors.withLock { $0.append(text) }
            logger.error("\(text)")
        case X264_LOG_WARNING: logger.warning("\(text)")
        case X264_LOG_INFO: logger.debug("\(text)")
        default: logger.trace("\(text)")
        }
    }

    private static func text(_ format: UnsafePointer<CChar>, _ arguments: CVaListPointer) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2048) { buffer in
            guard let base = buffer.baseAddress, vsnprintf(base, buffer.count, format, arguments) >= 0 else {
                return String(cString: format)
            }
            var text = String(cString: base)
            while text.last?.isNewline == true { text.removeLast() }
            return text
        }
    }
}
