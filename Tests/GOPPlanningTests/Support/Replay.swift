// SPDX-License-Identifier: GPL-2.0-or-later

import GOPPlanning
import MediaTypes

/// A plan as H.264 codes it, and decoders that play it.
struct Replay {
    var parameters: DecoderModel.Parameters
    var pictures: [CodedPicture]
    let temporalLayers: Int

    /// Numbers a plan.
    init(
        _ structure: GOPStructure,
        _ plan: [PlannedPicture],
        log2MaxFrameNum: Int? = nil,
        log2MaxLsb: Int? = nil
    ) throws(MediaError) {
        var numbering = try H264PictureNumbering(
            structure,
            log2MaxFrameNum: log2MaxFrameNum,
            log2MaxPictureOrderCountLsb: log2MaxLsb
        )
        pictures = plan.map { CodedPicture($0, numbering.number($0)) }
        parameters = DecoderModel.Parameters(
            log2MaxFrameNum: numbering.log2MaxFrameNum,
            log2MaxLsb: numbering.log2MaxPictureOrderCountLsb,
            maxNumRefFrames: numbering.maxNumRefFrames,
            size: structure.referenceCount,
            reorderDepth: structure.reorderDepth
        )
        temporalLayers = structure.temporalLayers
    }

    /// Plays it in every way.
    ///
    /// - Returns: what was wrong.
    func violations() -> [String] {
        var found = Findings()
        found.attempt("decoder") { () throws(Violation) in try play() }
        found.attempt("early output") { () throws(Violation) in try play(showsEarly: true) }
        found.attempt("large buffer") { () throws(Violation) in try play(size: 16) }
        for layer in 0..<(temporalLayers - 1) {
            found.attempt("layer \(layer)") { () throws(Violation) in try play(upTo: layer) }
        }
        for index in pictures.indices.filter({ pictures[$0].kind == .recoveryPoint }).prefix(12) {
            found.attempt("from \(pictures[index].number)") { () throws(Violation) in try playFromRecoveryPoint(index) }
        }
        return found.all
    }

    /// Decodes the whole stream, or that of some layers; every picture has to come out in order.
    func play(showsEarly: Bool = false, size: Int? = nil, upTo layer: Int = 2) throws(Violation) {
        var parameters = parameters
        parameters.size = size ?? parameters.size
        var decoder = DecoderModel(parameters, showsEarly: showsEarly)
        try decoder.play(pictures.filter { $0.layer <= layer })
    }

    /// Plays what a receiver has that lacks these pictures: everything has to be there and shown.
    ///
    /// - Returns: what was wrong.
    func violations(without lacking: Set<Int64>) -> [String] {
        var decoder = DecoderModel(parameters)
        decoder.fillsGaps = true
        return decoder.violations(of: pictures, without: lacking)
    }

    /// Decodes from a recovery point to the next IDR picture, or some groups; what is shown from the point on has to be
    /// whole.
    private func playFromRecoveryPoint(_ start: Int) throws(Violation) {
        let point = pictures[start].number
        var decoder = DecoderModel(parameters, recoveryPoint: point)
        let end = pictures[start...].prefix(60).firstIndex(where: \.isIDR) ?? min(start + 60, pictures.endIndex)
        try decoder.play(pictures[start..<end], from: point)
    }
}
