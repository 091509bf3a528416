// SPDX-License-Identifier: GPL-2.0-or-later

/// Closed captions as user data registered by ITU-T T.35 (H.264 D.1.6): ATSC A/53 part 4, 6.2.3.
public enum CaptionMessage {
    /// `cc_count` has five bits; further triplets are put into another message.
    private static let maximumCount = 31
    private static let tripletSize = 3
    /// `process_cc_data_flag` and the reserved bit before it.
    private static let processesData: UInt8 = 0xC0
    /// `itu_t_t35_country_code` of the United States, the provider ATSC, `user_identifier`, and `user_data_type_code` 3
    /// for `cc_data`.
    private static let prefix: [UInt8] = [0xB5, 0x00, 0x31] + Array("GA94".utf8) + [0x03]

    /// Returns the messages of one picture.
    ///
    /// - Parameter triplets: `cc_data` in groups of three bytes: flags and `cc_type`, then two data bytes. An
    ///   incomplete last group is omitted.
    /// - Returns: One message for each 31 triplets; none if there are no triplets.
    public static func messages(_ triplets: [UInt8]) -> [SEIMessage] {
        let end = triplets.count - triplets.count % tripletSize
        let size = maximumCount * tripletSize
        return stride(from: 0, to: end, by: size).map { start in
            let part = triplets[start..<min(start + size, end)]
            let count = UInt8(clamping: part.count / tripletSize)
            let payload = prefix + [processesData | count, 0xFF] + part + [0xFF]
            return SEIMessage(type: .registeredUserData, payload: payload)
        }
    }
}
