// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CX264
internal import MediaTypes

/// The NAL units of one picture in x264's memory, valid until the next call of x264.
struct X264AccessUnit {
    private let units: UnsafeBufferPointer<x264_nal_t>

    init(_ units: UnsafeBufferPointer<x264_nal_t>) {
        self.units = units
    }

    /// The SPS and PPS, without start codes.
    var parameterSets: some Sequence<UnsafeRawBufferPointer> {
        units.lazy.filter(\.isParameterSet).map(\.bytes)
    }

    /// Whether the picture is an IDR picture.
    var isIDR: Bool { units.contains { $0.i_type == NAL_SLICE_IDR.rawValue } }

    /// Whether other pictures may refer to it: `nal_ref_idc` of its slices.
    var isReference: Bool { units.contains { $0.isSlice && $0.i_ref_idc != 0 } }

    /// Copies the units with length prefixes, without SPS and PPS.
    func coded() -> CodedData {
        CodedData(lengthPrefixing: units.lazy.filter { !$0.isParameterSet }.map(\.bytes))
    }
}

extension x264_nal_t {
    fileprivate var isParameterSet: Bool { i_type == NAL_SPS.rawValue || i_type == NAL_PPS.rawValue }
    fileprivate var isSlice: Bool { i_type == NAL_SLICE.rawValue || i_type == NAL_SLICE_IDR.rawValue }

    /// The unit without its start code, whose length x264 reports.
    fileprivate var bytes: UnsafeRawBufferPointer {
        let startCode = b_long_startcode != 0 ? 4 : 3
        guard let p_payload, Int(i_payload) > startCode else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: p_payload + startCode, count: Int(i_payload) - startCode)
    }
}
